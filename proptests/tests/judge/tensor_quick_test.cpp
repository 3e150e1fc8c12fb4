// The quick way through a row of softmax says nothing that the whole judge does not say.
#include <random>

#include "judge/results/tensor_judge.hpp"
#include "numerics/filter/row_filter.hpp"
#include "numerics/formats/simd_target.hpp"
#include "numerics/rounding/rounding.hpp"
#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

struct DrawnRow {
  Contract contract;
  std::vector<double> logits, got;
  double theta = 1;
};

std::vector<double> plain_softmax(std::span<const double> logits, double theta) {
  const long double top = *std::ranges::max_element(logits);
  std::vector<long double> weights;
  long double sum = 0;
  for (const double logit : logits) weights.push_back(std::exp((logit - top) / static_cast<long double>(theta)));
  for (const long double weight : weights) sum += weight;
  std::vector<double> values;
  for (const long double weight : weights) values.push_back(static_cast<double>(weight / sum));
  return values;
}

// Rows of many lengths, with masked items, ties, far and near logits, under many contracts; half of them with one value
// moved by nearly its threshold, just beyond it, or out of every range.
class RowDrawer {
 public:
  explicit RowDrawer(unsigned seed) : random_(seed) {}

  DrawnRow next() {
    static constexpr const char* words[] = {"",         "sum=tree",           "sum=lanes:8 masked=zero",
                                            "exp=4ulp", "acc=f64 exp=0.5ulp", "sum=blocks:16 weights=bf16"};
    static constexpr Format formats[] = {Format::f32, Format::f16, Format::bf16};
    DrawnRow row;
    const Format output = formats[below(3)];
    row.contract = numerics::parse_contract(words[below(6)], below(2) == 0 ? output : Format::f32, output);
    row.theta = below(3) == 0 ? std::ldexp(1 + uniform(), static_cast<int>(below(5)) - 2) : 1;
    const std::size_t n = below(4) == 0 ? 1 + below(300) : 1 + below(20);
    const double spread = std::ldexp(1.0, static_cast<int>(below(12)) - 4);
    for (std::size_t i = 0; i < n; ++i) {
      const double logit = below(20) == 0 ? -infinity : spread * (2 * uniform() - 1);
      row.logits.push_back(numerics::round_to(row.contract.input, logit));
    }
    row.logits[below(n)] = 0;
    row.got = plain_softmax(row.logits, row.theta);
    for (double& value : row.got) value = numerics::round_to(output, value);
    if (below(2) == 0) move_one(row);
    return row;
  }

 private:
  void move_one(DrawnRow& row) {
    static constexpr double shares[] = {0.999, -0.999, 1.001, -1.001, 0.9, -0.5};
    static constexpr double wrong[] = {-0.0, -1, 2, 1.0000001, nan};
    const std::size_t i = below(row.got.size());
    if (below(8) == 0) {
      row.got[i] = numerics::round_to(row.contract.output, wrong[below(5)]);
      return;
    }
    std::vector<double> allowed(row.logits.size());
    granted_row(Op::softmax, row.contract, row.logits, row.theta, allowed);
    // To all the digits that a double has: the judge takes any number.
    if (std::isfinite(allowed[i])) row.got[i] = plain_softmax(row.logits, row.theta)[i] + shares[below(6)] * allowed[i];
  }
  std::size_t below(std::size_t count) { return random_() % count; }
  double uniform() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  std::mt19937 random_;
};

void expect_the_same(const QuickRow& quick, const RowVerdicts& whole) {
  ASSERT_EQ(whole.findings.size(), quick.sum_share ? 2u : 1u);
  const ValueFinding& elements = whole.findings[0];
  EXPECT_EQ(elements.claim, "kernel.softmax.element");
  // The two name the same number to within the filter's own error of it.
  const auto near = [](double a, double b) { return std::fabs(a - b) <= 0x1p-20 * std::fabs(b) + 0x1p-20; };
  EXPECT_TRUE(near(quick.element_share, elements.share())) << quick.element_share << " " << elements.share();
  if (quick.sum_share) {
    EXPECT_EQ(whole.findings[1].claim, "kernel.softmax.row_sum");
    EXPECT_TRUE(near(*quick.sum_share, whole.findings[1].share()));
  }
  EXPECT_EQ(quick.errors.values, elements.errors.values);
  EXPECT_TRUE(near(quick.errors.worst_ulps, elements.errors.worst_ulps));
  EXPECT_TRUE(near(quick.errors.total_ulps, elements.errors.total_ulps));
  EXPECT_TRUE(near(quick.errors.worst_allowed, elements.errors.worst_allowed) ||
              quick.errors.worst_element != elements.errors.worst_element);
  EXPECT_EQ(quick.vacuity.judged, whole.vacuity.judged);
  EXPECT_EQ(quick.vacuity.vacuous, whole.vacuity.vacuous);
  EXPECT_EQ(quick.vacuity.rows, whole.vacuity.rows);
  EXPECT_EQ(quick.vacuity.unbounded, whole.vacuity.unbounded);
  EXPECT_EQ(quick.vacuity.unresolved, whole.vacuity.unresolved);
}

TEST(TensorQuick, WhatItProvesIsProvedAndWhatIsViolatedItLeaves) {
  RowDrawer drawer(1);
  std::size_t proved = 0, quickly = 0, violated = 0;
  constexpr std::size_t rows = 40000;
  for (std::size_t k = 0; k < rows && !HasFailure(); ++k) {
    const DrawnRow row = drawer.next();
    const RowVerdicts whole = judge_values(Op::softmax, row.contract, row.logits, row.theta, row.got);
    const auto holds = [](const ValueFinding& finding) { return finding.decision == Decision::proved; };
    const bool all_hold = std::ranges::all_of(whole.findings, holds);
    const auto quick = quick_softmax(row.contract, row.logits, row.theta, row.got);
    proved += all_hold ? 1 : 0;
    violated += all_hold ? 0 : 1;
    if (!quick) continue;
    ++quickly;
    ASSERT_TRUE(all_hold) << k;
    expect_the_same(*quick, whole);
  }
  EXPECT_GT(violated, rows / 10);
  EXPECT_GT(proved, rows / 3);
  // Only rows without thresholds, or at the very edge, take the other way.
  EXPECT_GT(quickly, proved - proved / 50);
}

// How far two instruction sets may lie apart in a share of a threshold, or in ulps: each knows a coefficient to the
// filter's relative error, a threshold is at least one rounding of the output, 2^-24 of the coefficient, and an ulp at
// least 2^-24 of it. Coefficients below 2^-960 (D beyond 667) are far below every threshold's floor.
double room_of(const DrawnRow& row) {
  const numerics::FilterStatistics filter = numerics::filter_row(row.logits, row.theta);
  return 2 * 0x1p24 * (filter.element_constant + 667 * filter.element_per_deviation) + 0x1p-50;
}

TEST(TensorQuick, EveryInstructionSetTellsTheSame) {
  RowDrawer drawer(2);
  for (std::size_t k = 0; k < 2000; ++k) {
    const DrawnRow row = drawer.next();
    const auto here = quick_softmax(row.contract, row.logits, row.theta, row.got);
    for (const std::string& target : numerics::simd_targets()) {
      const numerics::SimdTargetScope scope(target);
      const auto there = quick_softmax(row.contract, row.logits, row.theta, row.got);
      // At the very edge of a threshold one may prove what another does not.
      if (!here || !there) continue;
      EXPECT_EQ(here->errors.values, there->errors.values);
      EXPECT_EQ(here->vacuity.judged, there->vacuity.judged);
      EXPECT_NEAR(here->element_share, there->element_share, room_of(row) * (1 + here->element_share));
      EXPECT_NEAR(here->errors.worst_ulps, there->errors.worst_ulps, room_of(row) * (1 + here->errors.worst_ulps));
    }
  }
}

TEST(TensorQuick, ATensorIsJudgedAsItsRowsAreOneByOne) {
  constexpr std::size_t rows = 3000, n = 24;
  const StoredTensor logits =
      stored(Format::f32, {rows, n}, sample_numbers(Format::f32, rows * n, 4, 5), SampleLayout::reversed);
  const TensorTask task{.inputs = {logits.held()}};
  const Contract contract = contract_for(task, "sum=tree");
  std::vector<double> allowed(rows * n), ideal = ideal_output(task, contract, 0, Format::f64);
  thresholds(task, contract, 0, allowed);
  std::mt19937 random(3);
  for (std::size_t i = 0; i < rows * n; ++i) {
    const double share = i % 977 == 0 ? 1.2 : std::uniform_real_distribution<double>(-0.9, 0.9)(random);
    ideal[i] += share * allowed[i];
  }
  const StoredTensor output = stored(Format::f32, {rows, n}, ideal);
  const TensorJudgement judgement = judge_tensors(task, contract, std::vector{output.held()}, {.worst = 5});
  VacuityCount vacuity;
  std::size_t failed = 0, values = 0;
  std::vector<double> profile(512, 0), shares;
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<double> row(n), got(n);
    for (std::size_t i = 0; i < n; ++i) {
      row[i] = logits.at(r * n + i);
      got[i] = output.at(r * n + i);
    }
    const RowVerdicts verdicts = judge_values(Op::softmax, contract, row, 1, got);
    vacuity += verdicts.vacuity;
    bool violated = false;
    double share = 0;
    for (const ValueFinding& finding : verdicts.findings) {
      violated |= finding.decision == Decision::violated;
      share = std::max(share, finding.share());
      values += finding.errors.values;
    }
    failed += violated ? 1 : 0;
    shares.push_back(share);
    profile[r * 512 / rows] = std::max(profile[r * 512 / rows], share);
  }
  EXPECT_GT(failed, 30u);
  EXPECT_EQ(judgement.failed, failed);
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  EXPECT_EQ(judgement.vacuity.judged, vacuity.judged);
  EXPECT_EQ(judgement.vacuity.rows, vacuity.rows);
  EXPECT_EQ(row_of_claim(judgement, "kernel.softmax.element").errors->values, values);
  for (std::size_t k = 0; k < 512; ++k) EXPECT_NEAR(judgement.profile[k], profile[k], 0x1p-20);
  std::ranges::sort(shares, std::greater{});
  ASSERT_EQ(judgement.worst.size(), 5u);
  for (std::size_t k = 0; k < 5; ++k) EXPECT_EQ(judgement.worst[k].share, shares[k]);
  std::size_t binned = 0;
  for (const std::size_t count : judgement.histogram) binned += count;
  EXPECT_EQ(binned, rows);
}

TEST(TensorQuick, TheRowsShownArePartOfItWhereAllPass) {
  constexpr std::size_t rows = 2000, n = 16;
  const StoredTensor logits = stored(Format::f32, {rows, n}, sample_numbers(Format::f32, rows * n, 4, 6));
  const TensorTask task{.inputs = {logits.held()}};
  const Contract contract = contract_for(task, "");
  const StoredTensor output = stored(Format::f32, {rows, n}, ideal_output(task, contract, 0, Format::f32));
  const TensorJudgement some = judge_tensors(task, contract, std::vector{output.held()}, {.worst = 7});
  const TensorJudgement all = judge_tensors(task, contract, std::vector{output.held()}, {.worst = rows});
  ASSERT_EQ(some.worst.size(), 7u);
  ASSERT_EQ(all.worst.size(), rows);
  for (std::size_t k = 0; k < 7; ++k) EXPECT_EQ(some.worst[k].index, all.worst[k].index);
  EXPECT_EQ(some.vacuity.judged, all.vacuity.judged);
  EXPECT_NEAR(some.rows[0].slack, all.rows[0].slack, 0x1p-20);
  EXPECT_EQ(some.rows[0].errors->values, all.rows[0].errors->values);
  EXPECT_NEAR(some.rows[0].errors->bias_ulps, all.rows[0].errors->bias_ulps, 0x1p-20);
}

}  // namespace
}  // namespace softcheck::proptests
