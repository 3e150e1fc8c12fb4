// B17: the code's bound is the document's (docs/tolerances/attention_backward.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "numerics/rounding/rounding_attention_backward.hpp"
#include "proptests/tests/numerics/stated_arithmetic.hpp"

namespace softcheck::numerics::stated_attention_backward_test {
namespace {

using stated::Arithmetic;
using stated::grown;
using stated::holds;
using stated::Real;

struct BackwardSetting {
  Format input, output;
  const char* words;
  Format out_saved, lse_saved;
  double softcap;  // 0: none
};

const std::vector<BackwardSetting> backward_settings{
    {Format::f32, Format::f32, "acc=f32 sum=sequential", Format::f32, Format::f32, 0},
    {Format::f32, Format::f32, "acc=f32 sum=tree scale=split", Format::f32, Format::f32, 2},
    {Format::bf16, Format::bf16, "acc=f32 exp=E:50,A:3 sum=blocks:4 weights=bf16 ds=bf16", Format::bf16, Format::f32,
     0},
    {Format::bf16, Format::bf16, "acc=f32 sum=sequential scale=stored tanh=4096ulp", Format::bf16, Format::bf16, 0.3},
    {Format::f64, Format::f32, "acc=f32 exp=2ulp sum=lanes:2 weights=bf16", Format::f64, Format::f64, 0},
    {Format::f64, Format::f64, "acc=f64 exp=E:3,A:2 sum=sequential ds=f32", Format::f64, Format::f64, 0.3},
    // What underflows is not small here.
    {Format::f16, Format::f16, "acc=f16 sum=sequential", Format::f16, Format::f16, 0},
    {Format::f64, Format::f16, "acc=f16 exp=E:2,A:2 sum=tree scale=split weights=bf16 ds=bf16", Format::f32,
     Format::f32, 0.3},
    {Format::f16, Format::f16, "acc=f32 sum=sequential weights=f16 ds=f16 scale=stored", Format::f16, Format::f32, 50},
    {Format::f32, Format::f32, "acc=f32 sum=sequential scores=f16", Format::f32, Format::f32, 0.3},
};

struct StatedPair {
  double p, deviation, error, difference, magnitude, value_sum;  // of a key
  double slope, tangent, raw_error;                              // of a softcap
};
const std::vector<StatedPair> stated_pairs{{0.5, 0, 0x1p-20, 0.25, 3, 2, 0.75, 0.5, 0x1p-21},
                                           {0.3, 0.51, 0x1p-18, 1.5, 2, 1, 0.96, 0.2, 0x1p-19},
                                           {0.2, 0.916, 0x1p-30, 1, 0.5, 4, 0.19, 0.9, 0x1p-30}};
constexpr double stated_log_sum = 0.693, stated_product = 1.25, stated_gradient_sum = 2;
constexpr std::uint64_t stated_rescalings = 2, stated_dim = 5, stated_keys = 2, stated_queries = 7;

/// What the document says of one query, by its letters.
class StatedBackward {
 public:
  StatedBackward(const Contract& contract, const BackwardSetting& setting, double lse, double product,
                 std::optional<double> by_lse)
      : contract_(contract), setting_(setting), s_(contract), lse_(lse), product_(product), by_lse_(by_lse) {
    const Real h = Real::integer(summation_height(contract, stated_pairs.size())) * s_.lambda;
    const Real passes = Real::integer(stated_rescalings);
    for (const StatedPair& pair : stated_pairs) e_max_ = maximum(e_max_, Real(pair.error));
    nu_ = exp(steps() * s_.lambda) * (3 * s_.omega_m + s_.omega_a);
    Real mean;
    for (const StatedPair& pair : stated_pairs) mean += Real(pair.p) * grown(item(pair) + h);
    const Real kept = h + s_.lambda_e + passes * (s_.lambda_e + s_.lambda) + (passes + 1) * nu_;
    const Real vanished =
        Real::integer(stated_pairs.size()) * (2 * passes + 1) * (s_.omega_x + s_.omega_m + s_.omega_a);
    rho_ = log(1 + mean) + stated::lambda_of(exp(2 * kept) * vanished);
    const Real size = Real(stated_log_sum) + e_max_ + rho_;
    quotient_ = s_.lambda + stated::lambda_of(s_.u + s_.omega_m * exp(size));
    const Real log_error = rho_ + s_.log_error * size + s_.omega_a;
    const Real recomputed = log_error + s_.u * (Real(lse) + log_error) + s_.omega_a;
    ell_ = maximum(grown(saved_log(setting.lse_saved)) * Real(lse) + saved_lost(setting.lse_saved), recomputed);
    set_delta();
  }

  Real omega(const StatedPair& pair) const {
    const Real a = steps() * s_.lambda, x(pair.error);
    const Real through = exp(a) * (x + ell_) + 2 * exp(s_.lambda) * grown((steps() - 1) * s_.lambda) * Real(lse_) +
                         grown(a) * (Real(pair.deviation) + Real(stated_log_sum)) + s_.lambda_e + nu_;
    return maximum(through, item(pair) + rho_ + quotient_);
  }

  Real coefficient_floor(const StatedPair& pair) const { return exp(omega(pair)) * lost_p(); }

  Real score_gradient(const StatedPair& pair) const { return Real(pair.p) * Real(pair.difference) * slope(pair); }

  Real score_gradient_error(const StatedPair& pair) const {
    return Real(pair.p) * (exp(score_log(pair)) * met(pair) - Real(pair.difference) * slope(pair));
  }

  Real score_gradient_floor(const StatedPair& pair) const {
    const Real difference = lost_p() * met(pair) + (1 + Real(pair.p) + lost_p()) * s_.omega_a;
    const Real third = by_lse_ ? 2 * s_.omega_m + s_.omega_a : Real(0);
    return exp(score_log(pair)) * (difference * (1 + slope_error(pair)) + 3 * s_.omega_m + third) +
           lost(contract_.score_gradients);
  }

  Real slope_error(const StatedPair& pair) const {
    if (setting_.softcap == 0) return Real(0);
    const int roundings = round_to(s_.format, setting_.softcap) == setting_.softcap ? 5 : 6;
    const Real tanh_log =
        stated::lambda_of(Real(contract_.tanh_error) * s_.u) + roundings * s_.lambda + 2 * stored(contract_.scores);
    const Real over = 1 / Real(setting_.softcap), a = 2 * tanh_log + s_.lambda;
    const Real f = exp(tanh_log) * ((3 + over) * s_.omega_m + 2 * over * lost(contract_.scores));
    const Real t(pair.tangent), moved = 2 * t * Real(pair.raw_error) + square(Real(pair.raw_error));
    const Real lost = exp(a) * (2 + f) * f + s_.omega_m;
    return grown(s_.lambda) * Real(pair.slope) + exp(s_.lambda) * (grown(a) * t * t + exp(a) * moved + lost) +
           s_.omega_a;
  }

  // With a factor of 0.75 each.
  ScalarThreshold<Real> score_sum_error(double scale, std::uint64_t height) const {
    const Real c(scale), k(0.75), each = s_.omega_m + s_.omega_a;
    const bool whole = contract_.scale == ScaleUse::whole, stored_factor = contract_.scale == ScaleUse::stored;
    Real log = Real::integer(height + 3) * s_.lambda + s_.read;
    if (!whole) log += 2 * s_.lambda + 2 * stated::lambda_of(Real(properties(Format::f64).unit_roundoff));
    if (stored_factor) log += stored(contract_.input);
    const Real factor_lost =
        s_.omega_r + (whole ? Real(0) : s_.omega_m) + (stored_factor ? lost(contract_.input) : Real(0));
    Real sum, below;
    for (const StatedPair& pair : stated_pairs) {
      const Real ds = score_gradient(pair), error = score_gradient_error(pair), floor = score_gradient_floor(pair);
      sum += k * (exp(log) * (ds + error) - ds);
      below += k * (c * floor + s_.omega_m + lost(contract_.score_gradients)) +
               (ds + error + floor) * (1 + c) * (each + factor_lost) + (1 + c) * each;
    }
    return s_.then_output(c * sum, Real(1), exp(log + stored(contract_.score_gradients)) * below + 2 * s_.omega_m);
  }

  ScalarThreshold<Real> value_sum_error() const {
    const Real fixed = stored(contract_.weights) + (stated_queries + 1) * s_.lambda + s_.read;
    Real sum, below;
    for (const StatedPair& pair : stated_pairs) {
      const Real p(pair.p), floor = coefficient_floor(pair);
      sum += Real(0.75) * p * grown(omega(pair) + fixed);
      below += Real(0.75) * floor + (exp(omega(pair)) * p + floor) * s_.omega_r + s_.omega_m + s_.omega_a;
    }
    return s_.then_output(sum, Real(1), exp(fixed) * below);
  }

  // The pairs as those of a sink in as many queries.
  ScalarThreshold<Real> sink_sum_error(std::uint64_t height) const {
    const Real log = Real::integer(height) * s_.lambda;
    Real sum, below;
    for (const StatedPair& pair : stated_pairs) {
      const Real ds = score_gradient(pair);
      sum += exp(log) * (ds + score_gradient_error(pair)) - ds;
      below += score_gradient_floor(pair) + s_.omega_a;
    }
    return s_.then_output(sum, Real(1), exp(log) * below);
  }

 private:
  void set_delta() {
    const Real gradient(stated_gradient_sum);
    const Real saved = saved_lost(setting_.out_saved) * (gradient + s_.omega_r);
    Real own, output_sum;
    for (const StatedPair& pair : stated_pairs) {
      const Real log = omega(pair) + (stated_keys + 2) * s_.lambda + stored(contract_.weights) + products() +
                       saved_log(setting_.out_saved);
      const Real p(pair.p), mu(pair.magnitude), v(pair.value_sum);
      own += p * mu * grown(log) +
             exp(log) * (lost_p() * mu + (gradient + 2) * product_lost() + (p + lost_p()) * s_.omega_r * v);
      output_sum += p * v;
    }
    own += exp(products()) * saved;
    const Real read = s_.omega_r * exp(saved_log(setting_.out_saved)) * output_sum;
    const Real from_saved = grown(products() + saved_log(setting_.out_saved)) * Real(product_) +
                            exp(products()) * (saved + read + product_lost());
    delta_ = maximum(from_saved, own);
  }

  Real steps() const { return Real(std::max(contract_.exp_argument_error, 1.0)); }
  Real slope(const StatedPair& pair) const { return Real(setting_.softcap != 0 ? pair.slope : 1); }
  Real stored(std::optional<Format> format) const { return stated::Storage(contract_, format).lambda; }
  Real lost(std::optional<Format> format) const { return stated::Storage(contract_, format).lost; }
  Real saved_log(Format format) const { return stored(format) + (holds(s_.format, format) ? Real(0) : s_.lambda); }
  Real saved_lost(Format format) const { return lost(format) + 2 * s_.omega_m; }
  Real item(const StatedPair& pair) const {
    return Real(pair.error) + s_.lambda_e + grown(steps() * s_.lambda) * (Real(pair.deviation) + 2 * e_max_) +
           stated_rescalings * (s_.lambda_e + s_.lambda) + (stated_rescalings + 1) * nu_;
  }
  // A product of two rows of d_v numbers.
  Real products() const { return (stated_dim + 1) * s_.lambda + 2 * s_.read; }
  Real product_lost() const { return Real::integer(stated_dim) * (2 * s_.omega_m + s_.omega_a); }
  Real lost_p() const {
    return (stated_rescalings + 1) * (s_.omega_x + 2 * s_.omega_m) + s_.omega_m + lost(contract_.weights);
  }
  Real score_log(const StatedPair& pair) const {
    return omega(pair) + (setting_.softcap != 0 ? 3 : 2) * s_.lambda + stored(contract_.score_gradients);
  }
  // |g - delta| times the slope, both with their errors.
  Real met(const StatedPair& pair) const {
    const Real gamma =
        grown(products()) * Real(pair.magnitude) +
        exp(products()) * (product_lost() * (1 + Real(stated_gradient_sum)) + s_.omega_r * Real(pair.value_sum));
    return (Real(pair.difference) + gamma + delta_ + third(pair, gamma)) * (slope(pair) + slope_error(pair));
  }
  // What a gradient by L adds.
  Real third(const StatedPair& pair, const Real& gamma) const {
    if (!by_lse_) return Real(0);
    const Real size(*by_lse_), of_reading = holds(s_.format, setting_.lse_saved) ? Real(0) : s_.lambda;
    const Real read = grown(of_reading) * size + 2 * s_.omega_m + s_.omega_a;
    const Real first = maximum(maximum(Real(product_), Real(pair.magnitude)), Real(pair.difference));
    return read + grown(s_.lambda) * (first + gamma + delta_ + read) +
           grown((setting_.softcap != 0 ? 7 : 5) * s_.lambda) * size;
  }

  const Contract& contract_;
  const BackwardSetting& setting_;
  Arithmetic s_;
  double lse_, product_;
  std::optional<double> by_lse_;
  Real e_max_, nu_, rho_, quotient_, ell_, delta_;
};

void expect_same_bound(const UpperBound& bound, const Real& said, const std::string& what) {
  // What f64 loses where it keeps subnormals is a few units of 2^-1074, to which an UpperBound rounds up each term. The
  // same terms are compared as they are where f64 flushes.
  if (said.upper_double() < 0x1p-1000) {
    EXPECT_FALSE((Real(bound.value()) - said).certainly_negative()) << what;
    return;
  }
  stated::expect_same(Real(bound.value()), said, what);
}
void expect_same_bound(const ScalarThreshold<UpperBound>& bound, const ScalarThreshold<Real>& said,
                       const std::string& what) {
  expect_same_bound(bound.rounding, said.rounding, what);
  expect_same_bound(bound.floor, said.floor, what + ", underflow");
}

void expect_stated(const Contract& contract, const BackwardSetting& setting, double lse, double scale, double product,
                   std::optional<double> by_lse, const std::string& what) {
  const StatedBackward said(contract, setting, lse, product, by_lse);
  std::vector<BackwardPair> pairs;
  for (const StatedPair& p : stated_pairs) {
    pairs.push_back({UpperBound(p.p), UpperBound(p.deviation), UpperBound(p.error), UpperBound(p.difference),
                     UpperBound(p.magnitude), UpperBound(p.value_sum)});
    if (setting.softcap == 0) continue;
    pairs.back().cap =
        cap_slope(contract, setting.softcap, UpperBound(p.slope), UpperBound(p.tangent), UpperBound(p.raw_error));
    expect_same_bound(pairs.back().cap->error, said.slope_error(p), what + "slope");
  }
  const AttentionBackwardArithmetic arithmetic{.value_size = stated_dim,
                                               .key_sum_height = stated_keys,
                                               .query_sum_height = stated_queries,
                                               .scale = scale,
                                               .out_saved = setting.out_saved,
                                               .lse_saved = setting.lse_saved};
  BackwardRow row{pairs,           stated_rescalings,   UpperBound(stated_log_sum),
                  UpperBound(lse), UpperBound(product), UpperBound(stated_gradient_sum)};
  if (by_lse) row.lse_gradient = UpperBound(*by_lse);
  const auto errors = attention_backward_pairs(contract, arithmetic, row);
  for (std::size_t j = 0; j < errors.size(); ++j) {
    const StatedPair& pair = stated_pairs[j];
    expect_same_bound(errors[j].coefficient_log, said.omega(pair), what + "omega");
    expect_same_bound(errors[j].coefficient_floor, said.coefficient_floor(pair), what + "phi_p");
    expect_same_bound(errors[j].score_gradient, said.score_gradient(pair), what + "dS");
    expect_same_bound(errors[j].score_gradient_error, said.score_gradient_error(pair), what + "eps");
    expect_same_bound(errors[j].score_gradient_floor, said.score_gradient_floor(pair), what + "phi_dS");
  }
  const std::vector<UpperBound> factors(errors.size(), UpperBound(0.75));
  expect_same_bound(ScoreGradientSum(contract, arithmetic, errors, 4).error(factors, UpperBound(1)),
                    said.score_sum_error(std::fabs(scale), 4), what + "dq");
  expect_same_bound(ValueGradientSum(contract, arithmetic, errors).error(factors, UpperBound(1)),
                    said.value_sum_error(), what + "dv");
  expect_same_bound(sink_gradient_error(contract, errors, 5, UpperBound(1)), said.sink_sum_error(5), what + "dsink");
}

TEST(StatedBounds, OfAttentionsGradientAreTheDocuments) {
  const PrecisionScope precision(256);
  for (const BackwardSetting& setting : backward_settings) {
    for (const std::string subnormals : {" subnormal=kept", " subnormal=flushed"}) {
      const Contract contract = parse_contract(setting.words + subnormals, setting.input, setting.output);
      for (const double lse : {0.125, 2000.0}) {
        for (const double scale : {0.5, -3.0}) {
          // With the larger one delta errs most where it comes from the saved O; with the smaller one a pair's
          // difference is the largest that meets dL.
          for (const double product : {stated_product / 4, stated_product, 64 * stated_product}) {
            for (const std::optional<double> by_lse : {std::optional<double>(), {0.5}, {40.0}}) {
              expect_stated(contract, setting, lse, scale, product, by_lse,
                            setting.words + subnormals + " L=" + std::to_string(lse) + " ");
            }
          }
        }
      }
    }
  }
}

// Binary16 holds c tanh(s / c) in steps of 1/64 of c = 2^-18: so coarse is a slope that is taken from it.
TEST(AttentionBackwardBound, ASmallSoftcapCostsTheSlopeWhatItsScoreLoses) {
  const Contract contract = parse_contract("acc=f16 sum=sequential subnormal=kept", Format::f16, Format::f16);
  constexpr double softcap = 0x1p-18, steps = 64;
  double worst = 0;
  for (int k = 1; k < steps; ++k) {
    const double tangent = std::tanh(k / steps), capped = std::nearbyint(tangent * steps) / steps;
    const double moved = std::fabs(capped * capped - tangent * tangent);
    const UpperBound slope(std::nextafter(1 - tangent * tangent, 1)), size(std::nextafter(tangent, 1));
    EXPECT_LE(moved, cap_slope(contract, softcap, slope, size, UpperBound()).error.value()) << k;
    worst = std::max(worst, moved / cap_slope(contract, 1, slope, size, UpperBound()).error.value());
  }
  EXPECT_GT(worst, 2) << "a softcap of 1 loses so much, too";
}

}  // namespace
}  // namespace softcheck::numerics::stated_attention_backward_test
