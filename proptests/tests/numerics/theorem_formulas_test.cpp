// The bounds of rounding.hpp are the right-hand sides that Coq prints (theorem_bounds.hpp), of the quantities that
// docs/tolerances.md derives from a contract and a row.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "numerics/rounding/rounding.hpp"
#include "numerics/rounding/rounding_attention.hpp"
#include "numerics/rounding/rounding_model.hpp"
#include "numerics/rounding/theorem_attention_bounds.hpp"
#include "numerics/rounding/theorem_bounds.hpp"
#include "proptests/tests/numerics/row_families.hpp"
#include "proptests/tests/numerics/theorem_constants.hpp"
#include "theory/adaptive_temperature.hpp"
#include "theory/streaming_entropy.hpp"

namespace softcheck::numerics {
namespace {

using Quantities = formulas::Quantities<Enclosure>;

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
  q.item_unit = minus_log1m(q.exp_error);
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
  const Enclosure largest_sum = exp(q.log_sum + formulas::SumBounds<Enclosure>(q).sum_log);
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
  const Quantities q = quantities_of(contract, row);
  const std::string what = name + " theta=" + std::to_string(theta) + " ";

  const formulas::SumBounds<Enclosure> sums(q);
  const formulas::ElementBounds<Enclosure> elements(q, sums);
  const formulas::LogarithmBounds<Enclosure> logarithms(q, sums);
  const formulas::MomentBounds<Enclosure> moments(q, sums);
  const formulas::UncentredMomentBounds<Enclosure> uncentred(q, sums);

  const Enclosure sum = sum_error(contract, row);
  if (!promises(sum)) return 0;
  expect_same_value(sum, exp(sums.sum_log) - Enclosure(1), what + "B1");

  // Theorems threshold_constant_is, threshold_slope_is, threshold_floor_is.
  const Enclosure floor = elements.element_floor + q.quantum / Enclosure(2048);
  const Enclosure steepest =
      sums.slope * (elements.element_log + log(Enclosure(2048) / q.quantum)) / (Enclosure(1) - sums.slope);
  const Enclosure constant = exp(elements.element_log) - Enclosure(1),
                  slope = sums.slope *
                          exp(elements.element_log + steepest / Enclosure(2) + steepest * steepest / Enclosure(24));
  const auto element = softmax_error(contract, row);
  expect_same_value(element.constant, constant, what + "B2 constant");
  expect_same_value(element.slope, slope, what + "B2 slope");
  expect_same_value(element.floor, floor, what + "B2 floor");
  expect_same_value(total_variation_error(contract, row), constant + slope * q.mean_deviation + q.visible * floor,
                    what + "B3");

  const auto row_sum = row_sum_error(contract, row);
  expect_same_value(row_sum.total(), elements.row_sum_rounding + elements.row_sum_lost, what + "B4");
  const auto shared = row_sum_error(contract, row, Exponentials::shared);
  expect_same_value(shared.rounding, elements.shared_rounding, what + "B4, shared exponentials");

  const auto logsumexp = logsumexp_error(contract, row);
  expect_same_value(logsumexp.rounding, logarithms.logsumexp_output, what + "B5");
  expect_same_value(logsumexp.floor, logarithms.logsumexp_lost, what + "B5, what underflows");
  const auto log_softmax = log_softmax_error(contract, row);
  Contract by_value = contract;
  by_value.lse = LseForm::uncentred;
  const auto by_lse = log_softmax_error(by_value, row);
  for (double deviation : {0.0, 0.5, 10.0}) {
    expect_same_value(
        log_softmax.at(Enclosure(deviation)),
        logarithms.centred_constant + logarithms.centred_slope * Enclosure(deviation) + logarithms.centred_lost,
        what + "B5 log-softmax");
    expect_same_value(
        by_lse.at(Enclosure(deviation)),
        logarithms.uncentred_constant + logarithms.uncentred_slope * Enclosure(deviation) + logarithms.uncentred_lost,
        what + "B5 uncentred");
  }

  const auto entropy = entropy_error(contract, row);
  expect_same_value(entropy.rounding, moments.entropy_output, what + "B6");
  expect_same_value(entropy.floor, moments.entropy_lost, what + "B6, what underflows");
  const auto from_logits = entropy_uncentred_error(contract, row);
  expect_same_value(from_logits.rounding, uncentred.entropy_uncentred_output, what + "B7");
  expect_same_value(from_logits.floor, uncentred.entropy_uncentred_lost, what + "B7, what underflows");
  return 1;
}

// Labelled full: TheoremFormulas.TheBoundsAreTheTheoremsRightHandSides
TEST(TheoremFormulas, TheBoundsAreTheTheoremsRightHandSides) {
  const PrecisionScope precision(256);
  std::size_t compared = 0;
  for (std::size_t n : {1, 2, 37, 300}) {
    for (const FormulaSetting& setting : formula_settings) {
      const Contract contract = parse_contract(setting.words, setting.input, setting.input);
      for (const tests::NamedRow& row : tests::rows_in(setting.input, n, 20241001)) {
        for (double theta : {1.0, 0.5, 3.0}) {
          if (n == 300 && theta != 1) continue;
          compared += compare(contract, row.logits, theta, rescaling_count(contract, row.logits),
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
    // streaming_arithmetic in theory/proofs/numerics/streaming_code.v, whose other numbers
    // StreamingEntropy.TheContractGrantsWhatTheCLibraryPromises has.
    EXPECT_EQ(contract.exp_argument_error, 1);
    EXPECT_EQ(summation_height(contract, 37), 36U);
    for (const tests::NamedRow& row : tests::rows_in(format, 37, 20241001)) {
      compare(contract, row.logits, 1, rescaling_count(contract, row.logits), row.name + " streamed");
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
        formulas::attention::whole::Quantities<Enclosure> q;
        q.roundoff = Enclosure(format.unit_roundoff);
        q.sum_floor = Enclosure(flushed ? format.smallest_normal : 0.0);
        q.product_floor = Enclosure(flushed ? format.smallest_normal : format.smallest_subnormal / 2);
        q.dimension = Enclosure(static_cast<double>(dimension));
        q.readings = Enclosure(embeds(contract.input, contract.accumulator) ? 0.0 : 2.0);
        q.scale_magnitude = Enclosure(std::abs(scale));
        const Enclosure dot_magnitude(7.0);
        q.dot_magnitude = dot_magnitude;
        q.products_scale = q.scale_magnitude;  // no factor is scaled before its product
        AttentionArithmetic arithmetic;
        arithmetic.scale = scale;
        arithmetic.dimension = dimension;
        const Enclosure bound = score_error(contract, arithmetic, dot_magnitude);
        const Enclosure score = formulas::attention::whole::WholeScoreBounds<Enclosure>(q).whole_score;
        expect_not_less(bound, score, what);
        // Only f16's simpler floors are large enough beside its roundings to tell the two apart.
        if (contract.accumulator != Format::f16) expect_same_value(bound, score, what);
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
