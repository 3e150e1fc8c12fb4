// B17: the code's bound is the document's (docs/tolerances/attention_backward.md). The floors, for what underflows, are
// not compared: the values here lie far above them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "numerics/rounding_attention_backward.hpp"
#include "proptests/tests/numerics/stated_arithmetic.hpp"

namespace softcheck::numerics {
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
  StatedBackward(const Contract& contract, const BackwardSetting& setting, double lse)
      : contract_(contract), setting_(setting), s_(contract), lse_(lse) {
    const Real h = Real::integer(summation_height(contract, stated_pairs.size())) * s_.lambda;
    for (const StatedPair& pair : stated_pairs) e_max_ = maximum(e_max_, Real(pair.error));
    Real mean;
    for (const StatedPair& pair : stated_pairs) mean += Real(pair.p) * grown(item(pair) + h);
    rho_ = log(1 + mean);
    const Real size = Real(stated_log_sum) + e_max_ + rho_, log_error = rho_ + s_.log_error * size;
    const Real recomputed = log_error + s_.u * (Real(lse) + log_error);
    ell_ = maximum(grown(saved_log(setting.lse_saved)) * Real(lse), recomputed);
    Real out;
    for (const StatedPair& pair : stated_pairs) {
      const Real log = omega(pair) + (stated_keys + stated_dim + 3) * s_.lambda + stored(contract.weights) +
                       2 * s_.read + saved_log(setting.out_saved);
      out += Real(pair.p) * Real(pair.magnitude) * grown(log);
    }
    const Real from_saved = grown((stated_dim + 1) * s_.lambda + 2 * s_.read + saved_log(setting.out_saved));
    delta_ = maximum(from_saved * Real(stated_product), out);
  }

  Real omega(const StatedPair& pair) const {
    const Real a = steps() * s_.lambda, x(pair.error);
    const Real through = exp(a) * (x + ell_) + 2 * exp(s_.lambda) * grown((steps() - 1) * s_.lambda) * Real(lse_) +
                         grown(a) * (Real(pair.deviation) + Real(stated_log_sum)) + s_.lambda_e;
    return maximum(through, item(pair) + rho_ + 2 * s_.lambda);
  }

  Real score_gradient(const StatedPair& pair) const { return Real(pair.p) * Real(pair.difference) * slope(pair); }

  Real score_gradient_error(const StatedPair& pair) const {
    const Real gamma = grown((stated_dim + 1) * s_.lambda + 2 * s_.read) * Real(pair.magnitude);
    const Real log = omega(pair) + (setting_.softcap != 0 ? 3 : 2) * s_.lambda + stored(contract_.score_gradients);
    const Real met = (Real(pair.difference) + gamma + delta_) * (slope(pair) + slope_error(pair));
    return Real(pair.p) * (exp(log) * met - Real(pair.difference) * slope(pair));
  }

  Real slope_error(const StatedPair& pair) const {
    if (setting_.softcap == 0) return Real(0);
    const int roundings = round_to(s_.format, setting_.softcap) == setting_.softcap ? 11 : 13;
    const Real a = 2 * stated::lambda_of(Real(contract_.tanh_error) * s_.u) + roundings * s_.lambda;
    const Real t(pair.tangent), moved = 2 * t * Real(pair.raw_error) + square(Real(pair.raw_error));
    return grown(s_.lambda) * Real(pair.slope) + exp(s_.lambda) * (grown(a) * t * t + exp(a) * moved);
  }

  // With a factor of 0.75 each.
  Real score_sum_error(double scale, std::uint64_t height) const {
    Real log = Real::integer(height + 3) * s_.lambda + s_.read, sum;
    if (contract_.scale != ScaleUse::whole) {
      log += 2 * s_.lambda + 2 * stated::lambda_of(Real(properties(Format::f64).unit_roundoff));
    }
    if (contract_.scale == ScaleUse::stored) log += stored(contract_.input);
    for (const StatedPair& pair : stated_pairs) {
      const Real ds = score_gradient(pair);
      sum += Real(0.75) * (exp(log) * (ds + score_gradient_error(pair)) - ds);
    }
    return s_.then_output(Real(scale) * sum, Real(1), Real(0)).rounding;
  }

  Real value_sum_error() const {
    Real sum;
    for (const StatedPair& pair : stated_pairs) {
      const Real log = omega(pair) + stored(contract_.weights) + (stated_queries + 1) * s_.lambda + s_.read;
      sum += Real(0.75) * Real(pair.p) * grown(log);
    }
    return s_.then_output(sum, Real(1), Real(0)).rounding;
  }

 private:
  Real steps() const { return Real(std::max(contract_.exp_argument_error, 1.0)); }
  Real slope(const StatedPair& pair) const { return Real(setting_.softcap != 0 ? pair.slope : 1); }
  Real stored(std::optional<Format> format) const { return stated::Storage(contract_, format).lambda; }
  Real saved_log(Format format) const { return stored(format) + (holds(s_.format, format) ? Real(0) : s_.lambda); }
  Real item(const StatedPair& pair) const {
    return Real(pair.error) + s_.lambda_e + grown(steps() * s_.lambda) * (Real(pair.deviation) + 2 * e_max_) +
           stated_rescalings * (s_.lambda_e + s_.lambda);
  }

  const Contract& contract_;
  const BackwardSetting& setting_;
  Arithmetic s_;
  double lse_;
  Real e_max_, rho_, ell_, delta_;
};

void expect_same_bound(const UpperBound& bound, const Real& said, const std::string& what) {
  stated::expect_same(Real(bound.value()), said, what);
}

TEST(StatedBounds, OfAttentionsGradientAreTheDocuments) {
  const PrecisionScope precision(256);
  for (const BackwardSetting& setting : backward_settings) {
    const Contract contract =
        parse_contract(std::string(setting.words) + " subnormal=kept", setting.input, setting.output);
    for (const double lse : {0.125, 2000.0}) {
      for (const double scale : {0.5, -3.0}) {
        const std::string what = std::string(setting.words) + " L=" + std::to_string(lse) + " ";
        const StatedBackward said(contract, setting, lse);
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
        const auto errors =
            attention_backward_pairs(contract, arithmetic,
                                     {pairs, stated_rescalings, UpperBound(stated_log_sum), UpperBound(lse),
                                      UpperBound(stated_product), UpperBound(stated_gradient_sum)});
        for (std::size_t j = 0; j < errors.size(); ++j) {
          expect_same_bound(errors[j].coefficient_log, said.omega(stated_pairs[j]), what + "omega");
          expect_same_bound(errors[j].score_gradient, said.score_gradient(stated_pairs[j]), what + "dS");
          expect_same_bound(errors[j].score_gradient_error, said.score_gradient_error(stated_pairs[j]), what + "eps");
        }
        const std::vector<UpperBound> factors(errors.size(), UpperBound(0.75));
        expect_same_bound(ScoreGradientSum(contract, arithmetic, errors, 4).error(factors, UpperBound(1)).rounding,
                          said.score_sum_error(std::fabs(scale), 4), what + "dq");
        expect_same_bound(ValueGradientSum(contract, arithmetic, errors).error(factors, UpperBound(1)).rounding,
                          said.value_sum_error(), what + "dv");
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
}  // namespace softcheck::numerics
