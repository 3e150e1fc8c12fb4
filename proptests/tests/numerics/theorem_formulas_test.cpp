// The bounds of rounding.hpp against the right-hand sides of the theorems, which Coq has printed into
// theorem_formulas.hpp: the same numbers, on every contract and row.
#include "proptests/tests/numerics/theorem_formulas.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "numerics/rounding/rounding.hpp"
#include "numerics/rounding/rounding_attention.hpp"
#include "numerics/rounding/rounding_model.hpp"
#include "proptests/tests/numerics/row_families.hpp"
#include "theory/adaptive_temperature.hpp"
#include "theory/streaming_entropy.hpp"

namespace softcheck::numerics {
namespace {

/// What the theorems are evaluated on. As Coq prints them they repeat the same few logarithms and exponentials hundreds
/// of times, by far the longest to compute: each is kept with its argument.
class Term : public Enclosure {
 public:
  using Enclosure::Enclosure;
  explicit Term(Enclosure value) : Enclosure(std::move(value)) {}
  Term& operator=(const Enclosure& value) {
    Enclosure::operator=(value);
    return *this;
  }

  friend Term operator+(const Term& a, const Term& b) { return Term(a.plain() + b.plain()); }
  friend Term operator-(const Term& a, const Term& b) { return Term(a.plain() - b.plain()); }
  friend Term operator*(const Term& a, const Term& b) { return Term(a.plain() * b.plain()); }
  friend Term operator/(const Term& a, const Term& b) { return Term(a.plain() / b.plain()); }
  friend Term expm1(const Term& x) { return exp(x) - Term(1); }
  friend Term minus_log1m(const Term& x) { return Term(0) - log(Term(1) - x); }
  friend Term over_one_minus(const Term& x) { return Term(1) / (Term(1) - x); }
  friend Term exp(const Term& x) {
    static Values known;
    return kept(known, x, [&] { return exp(x.plain()); });
  }
  friend Term log(const Term& x) {
    static Values known;
    return kept(known, x, [&] { return log(x.plain()); });
  }

 private:
  using Values = std::vector<std::pair<Term, Term>>;

  const Enclosure& plain() const { return *this; }

  template <class Compute>
  static Term kept(Values& known, const Term& x, Compute compute) {
    for (const auto& [argument, value] : known) {
      if (argument.precision() == x.precision() && argument.contains(x) && x.contains(argument)) return value;
    }
    if (known.size() == 64) known.clear();  // another row has others
    return known.emplace_back(x, Term(compute())).second;
  }
};

using Quantities = theorems::Quantities<Term>;

struct FormulaSetting {
  Format input;
  const char* words;
};

const std::vector<FormulaSetting> formula_settings{
    {Format::f32, "acc=f32 exp=1ulp sum=sequential"},
    {Format::f32, "acc=f32 exp=0.5ulp sum=lanes:8 subnormal=kept"},
    {Format::f32, "acc=f32 exp=E:50,A:3 sum=blocks:64"},
    {Format::f64, "acc=f64 exp=1ulp sum=lanes:4"},
    {Format::f64, "acc=f32 exp=1ulp sum=tree"},
    {Format::f16, "acc=f32 exp=2ulp sum=tree"},
    {Format::bf16, "acc=f32 exp=1ulp sum=lanes:16 subnormal=flushed"},
    {Format::f16, "acc=f16 exp=1ulp sum=lanes:32"},
    {Format::bf16, "acc=bf16 exp=1ulp sum=tree"},
};

/// The theorems' quantities of a contract and a row, from the definitions of docs/tolerances.md.
Quantities quantities_of(const Contract& contract, const RowStatistics<Enclosure>& row) {
  const RoundingModel<Enclosure> model(contract, row, Grants::all);
  const FormatProperties& format = properties(contract.accumulator);
  Quantities q;
  q.roundoff = Enclosure(format.unit_roundoff);
  q.exp_error = Enclosure(contract.exp_error) * q.roundoff;
  q.log_error = Enclosure(contract.log_error) * q.roundoff;
  q.argument_unit = model.argument_unit;
  q.sum_floor = model.sum_floor;
  q.product_floor = model.product_floor;
  q.exp_floor = model.exp_floor;
  // Theorem scaled_argument's part for theta != 1.
  q.argument_step = model.sum_floor;
  if (row.theta != 1) {
    q.argument_step = (Enclosure(1) + model.slope) * model.sum_floor / Enclosure(row.theta) + model.product_floor;
  }
  const bool flushed = contract.subnormals == Subnormals::flushed;
  const bool converted = !embeds(contract.input, contract.accumulator);
  const Enclosure lost = converted ? model.product_floor : Enclosure(flushed ? format.smallest_normal : 0.0);
  q.conversion = Enclosure(2) * lost / Enclosure(row.theta);
  if (converted) q.conversion = q.conversion + Enclosure(2) * q.roundoff * row.largest_magnitude;
  q.height = Enclosure::integer(std::min(summation_height(contract, row.size), row.visible - 1));
  q.rescalings = Enclosure::integer(row.rescalings);
  q.rescaled = row.rescalings > 0;
  q.visible = Enclosure::integer(row.visible);
  q.item_unit = theorems::exp_unit(q);
  q.item_floor = q.exp_floor;
  q.total_unit = Enclosure(0);
  q.divisions = q.lost_quotients = Enclosure(2);
  q.mean_deviation = row.mean_deviation;
  q.log_sum = row.log_sum;
  q.maximum_magnitude = row.maximum_magnitude;
  q.logsumexp_magnitude = row.logsumexp_magnitude;
  q.output_unit = model.output_unit;
  q.output_roundoff = model.output_roundoff;
  q.output_floor = model.output_floor;
  q.quantum = Enclosure(format.smallest_subnormal);
  q.scaling = model.scaling;
  q.mean_square_deviation = row.mean_square_deviation;
  q.entropy_magnitude = row.log_sum + row.mean_deviation;
  q.exp_cutoff = model.exp_cutoff;
  // Theorem reciprocal_of_sum: 0 where 1 / S is certainly a normal number.
  const Enclosure largest_sum = exp(q.log_sum + theorems::sum_log(q));
  const bool normal = less_equal(largest_sum, Enclosure(1 / format.smallest_normal)) == Decision::proved;
  q.reciprocal_error = q.roundoff + (normal ? Enclosure(0) : q.product_floor * largest_sum);
  return q;
}

/// A bound that promises nothing, or the theorem's where its premise (no overflow, n lost e^(2 sigma_0) < 1) fails.
bool promises(const Enclosure& bound) { return !bound.is_nan() && std::isfinite(bound.upper_double()); }

/// The bound is the theorem's: never less, and not more by a part in a million either.
void expect_same_value(const Enclosure& bound, const Enclosure& theorem, const std::string& what) {
  if (!promises(bound)) return;
  ASSERT_TRUE(promises(theorem)) << what << ": a bound where the theorem promises nothing";
  EXPECT_FALSE((bound - theorem).certainly_negative())
      << what << ": " << bound.to_string() << " < " << theorem.to_string();
  EXPECT_FALSE((theorem * Enclosure(1 + 0x1p-20) - bound).certainly_negative())
      << what << ": " << bound.to_string() << " > " << theorem.to_string();
}

/// The bound is the theorem's or a wider one: where several underflows are covered by one simpler floor.
void expect_not_less(const Enclosure& bound, const Enclosure& theorem, const std::string& what) {
  if (!promises(bound)) return;
  EXPECT_FALSE((bound - theorem).certainly_negative())
      << what << ": " << bound.to_string() << " < " << theorem.to_string();
}

std::size_t compare(const Contract& contract, const std::vector<double>& logits, double theta, std::uint64_t rescalings,
                    const std::string& name) {
  const RowOracle oracle(logits, theta);
  if (oracle.fully_masked()) return 0;
  const auto row = row_statistics<Enclosure>(oracle, rescalings, theta);
  Quantities q = quantities_of(contract, row);
  const std::string what = name + " theta=" + std::to_string(theta) + " ";

  const Enclosure sum = sum_error(contract, row);
  if (!promises(sum)) return 0;
  expect_same_value(sum, exp(theorems::sum_log(q)) - Enclosure(1), what + "B1");
  const auto element = softmax_error(contract, row);
  expect_same_value(element.constant, theorems::threshold_constant(q), what + "B2 constant");
  expect_same_value(element.slope, theorems::threshold_slope(q), what + "B2 slope");
  expect_same_value(element.floor, theorems::element_floor(q) + theorems::threshold_floor(q), what + "B2 floor");
  expect_same_value(total_variation_error(contract, row),
                    theorems::threshold_constant(q) + theorems::threshold_slope(q) * q.mean_deviation +
                        q.visible * (theorems::element_floor(q) + theorems::threshold_floor(q)),
                    what + "B3");
  const auto row_sum = row_sum_error(contract, row);
  expect_same_value(row_sum.total(), theorems::row_sum(q), what + "B4");
  const auto shared = row_sum_error(contract, row, Exponentials::shared);
  expect_same_value(shared.rounding, theorems::shared_rounding(q), what + "B4, shared exponentials");
  expect_same_value(shared.floor, theorems::row_sum_lost(q), what + "B4, what underflows");
  const auto logsumexp = logsumexp_error(contract, row);
  const auto lost = [&](const Enclosure& floor) { return floor * (Enclosure(1) + q.output_roundoff) + q.output_floor; };
  expect_same_value(logsumexp.rounding, theorems::logsumexp(q) - lost(theorems::logsumexp_floor(q)), what + "B5");
  expect_same_value(logsumexp.floor, lost(theorems::logsumexp_floor(q)), what + "B5, what underflows");
  const auto log_softmax = log_softmax_error(contract, row);
  Contract by_value = contract;
  by_value.lse = LseForm::uncentred;
  const auto uncentred = log_softmax_error(by_value, row);
  for (double deviation : {0.0, 0.5, 10.0}) {
    q.deviation = Enclosure(deviation);
    const auto rounded = [&](const Enclosure& second) {
      return second + q.output_roundoff * (q.deviation + q.log_sum + second);
    };
    const Enclosure centred = rounded(theorems::log_softmax_second(q)), by_l = rounded(theorems::uncentred_second(q));
    expect_same_value(log_softmax.rounding(q.deviation), centred, what + "B5 log-softmax");
    expect_same_value(log_softmax.at(q.deviation), theorems::log_softmax(q), what + "B5 log-softmax");
    expect_same_value(uncentred.rounding(q.deviation), by_l, what + "B5 uncentred");
    expect_same_value(uncentred.at(q.deviation), theorems::log_softmax_uncentred(q), what + "B5 uncentred");
    if (!promises(log_softmax.floor) || !promises(uncentred.constant)) continue;
    expect_same_value(log_softmax.floor, theorems::log_softmax(q) - centred, what + "B5 log-softmax, underflow");
    expect_same_value(uncentred.floor, theorems::log_softmax_uncentred(q) - by_l, what + "B5 uncentred, underflow");
  }
  const auto entropy = entropy_error(contract, row);
  expect_same_value(entropy.floor, lost(theorems::entropy_floor(q)), what + "B6, what underflows");
  expect_same_value(
      entropy.rounding,
      theorems::entropy_rounding(q) + q.output_roundoff * (q.entropy_magnitude + theorems::entropy_rounding(q)),
      what + "B6");
  const auto from_logits = entropy_uncentred_error(contract, row);
  expect_same_value(from_logits.rounding, theorems::entropy_uncentred_output(q), what + "B7");
  expect_same_value(from_logits.floor, theorems::entropy_uncentred_lost(q), what + "B7, what underflows");
  return 1;
}

// Labelled full: TheoremFormulas.TheBoundsAreTheTheoremsRightHandSides
TEST(TheoremFormulas, TheBoundsAreTheTheoremsRightHandSides) {
  const PrecisionScope precision(256);
  std::size_t compared = 0;
  for (std::size_t n : {1, 2, 37, 300}) {
    for (const tests::NamedRow& row : tests::row_families(n, 20241001)) {
      for (const FormulaSetting& setting : formula_settings) {
        for (double theta : {1.0, 0.5, 3.0}) {
          if (n == 300 && theta != 1) continue;
          std::vector<double> logits = row.logits;
          const double largest = properties(setting.input).largest;
          for (double& x : logits) {
            if (std::isfinite(x)) x = std::clamp(round_to(setting.input, x), -largest, largest);
          }
          const Contract contract = parse_contract(setting.words, setting.input, setting.input);
          compared += compare(contract, logits, theta, rescaling_count(contract, logits),
                              row.name + " [" + setting.words + "]");
          if (HasFatalFailure()) return;
        }
      }
    }
  }
  std::cout << compared << " contracts and rows\n";
  EXPECT_GT(compared, 500U);
}

TEST(TheoremFormulas, TheBoundOfStreamedEntropyIsThatOfItsTheorems) {
  const PrecisionScope precision(256);
  for (const Format format : {Format::f32, Format::f64, Format::bf16}) {
    const Contract contract = theory::streaming_contract(format);
    // streaming_arithmetic in theory/proofs/numerics/streaming_code.v.
    EXPECT_EQ(contract.exp_error, 2);
    EXPECT_EQ(contract.log_error, 4);
    EXPECT_EQ(contract.exp_argument_error, 1);
    EXPECT_EQ(contract.subnormals, Subnormals::kept);
    EXPECT_EQ(contract.accumulator, format == Format::f64 ? Format::f64 : Format::f32);
    EXPECT_EQ(summation_height(contract, 37), 36U);
    for (const tests::NamedRow& row : tests::row_families(37, 20241001)) {
      std::vector<double> logits = row.logits;
      const double largest = properties(format).largest;
      for (double& x : logits) {
        if (std::isfinite(x)) x = std::clamp(round_to(format, x), -largest, largest);
      }
      compare(contract, logits, 1, rescaling_count(contract, logits), row.name + " streamed");
      if (HasFatalFailure()) return;
    }
  }
}

TEST(TheoremFormulas, TheErrorOfAScoreIsTheTheorems) {
  const PrecisionScope precision(128);
  for (const FormulaSetting& setting : formula_settings) {
    const Contract contract = parse_contract(setting.words, setting.input, setting.input);
    const FormatProperties& format = properties(contract.accumulator);
    const bool flushed = contract.subnormals == Subnormals::flushed;
    for (std::size_t dimension : {1, 64, 128}) {
      for (double scale : {1.0, -0.125, 0.3}) {
        const std::string what = std::string(setting.words) + " d=" + std::to_string(dimension) + " score";
        Quantities q;
        q.roundoff = Enclosure(format.unit_roundoff);
        q.sum_floor = Enclosure(flushed ? format.smallest_normal : 0.0);
        q.product_floor = Enclosure(flushed ? format.smallest_normal : format.smallest_subnormal / 2);
        q.dimension = Enclosure(static_cast<double>(dimension));
        q.readings = Enclosure(embeds(contract.input, contract.accumulator) ? 0.0 : 2.0);
        q.scale_magnitude = Enclosure(std::abs(scale));
        const Enclosure dot_magnitude(7.0);
        q.dot_magnitude = dot_magnitude;
        AttentionArithmetic arithmetic;
        arithmetic.scale = scale;
        arithmetic.dimension = dimension;
        const Enclosure bound = score_error(contract, arithmetic, dot_magnitude);
        expect_not_less(bound, theorems::score(q), what);
        // Only f16's simpler floors are large enough beside its roundings to tell the two apart.
        if (contract.accumulator != Format::f16) expect_same_value(bound, theorems::score(q), what);
      }
    }
  }
}

// 1 / S is subnormal in f16 from S = 2^14 on: rounded to a multiple of 2^-24.
TEST(TheoremFormulas, AReciprocalOfALargeSumMayBeSubnormal) {
  const PrecisionScope precision(128);
  std::vector<double> logits(40000, 0.0);
  std::fill(logits.begin() + 23000, logits.end(), -1.0);
  const Contract contract = parse_contract("acc=f16 exp=1ulp sum=tree subnormal=kept", Format::f16, Format::f16);
  const RowOracle oracle(logits);
  ASSERT_TRUE(promises(entropy_error(contract, row_statistics<Enclosure>(oracle, 0)).total()));
  EXPECT_EQ(compare(contract, logits, 1, 0, "large sum, the maximum first"), 1U);
  // Everything exact but a reciprocal rounded to f16: T / S errs by more than one rounding.
  const double moment = 17000 * std::exp(-1.0), sum = 23000 + moment;
  EXPECT_GT(std::abs(round_to(Format::f16, 1 / sum) * sum - 1), 1.7 * 0x1p-11);
}

TEST(TheoremFormulas, TheConstantsOfAdaptiveTemperatureAreProved) {
  ASSERT_EQ(theory::published_quartic.size(), theorems::quartic_thousandths.size());
  for (std::size_t i = 0; i < theorems::quartic_thousandths.size(); ++i) {
    EXPECT_EQ(theory::published_quartic[i], theorems::quartic_thousandths[i]);
  }
  const PrecisionScope precision(128);
  const auto decimal = [](long long digits, const char* unit) { return Enclosure(digits) * Enclosure::decimal(unit); };
  const auto same = [](const char* text, const Enclosure& value) { return Enclosure::decimal(text).overlaps(value); };
  EXPECT_TRUE(same(theory::largest_beta, decimal(theorems::largest_beta_digits, "1e-5")));
  EXPECT_TRUE(same(theory::inactive_from, decimal(theorems::inactive_from_digits, "1e-5")));
  EXPECT_TRUE(same(theory::lipschitz_constant, decimal(theorems::lipschitz_digits, "1e-5")));
  // The proved digits are off by one in the last place at most.
  const theory::ActiveInterval interval = theory::active_interval();
  const auto near = [&](const Enclosure& value, long long digits, const char* unit) {
    return less_equal(abs(value - decimal(digits, unit)), Enclosure::decimal(unit)) == Decision::proved;
  };
  EXPECT_TRUE(near(interval.first, theorems::first_root_digits, "1e-18"));
  EXPECT_TRUE(near(interval.last, theorems::last_root_digits, "1e-18"));
  EXPECT_TRUE(near(interval.at_maximum, theorems::top_digits, "1e-14"));
  EXPECT_TRUE(near(interval.maximum, theorems::maximum_digits, "1e-14"));
  EXPECT_FALSE(near(interval.first, theorems::first_root_digits + 3, "1e-18"));
}

}  // namespace
}  // namespace softcheck::numerics
