// An op that only this file knows: one object, and it is judged, shrunk, replayed, shown and its values enclosed.
#include "judge/inference/contract_inference.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/rounding/rounding.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr std::uint32_t number_of_toy = 4242;

// factor sum x, the factor one for each row.
class ScaledSumElements : public RowElements {
 public:
  explicit ScaledSumElements(const RowInputs& row) : row_(row) {
    const FormatProperties& accumulator = properties(row.contract.accumulator);
    // A product, the additions, a product's reading: each (1 + delta) or its inverse.
    const UpperBound step = minus_log1m(UpperBound(accumulator.unit_roundoff));
    UpperBound magnitude, steps;
    for (const double x : row.logits) magnitude = magnitude + UpperBound(std::fabs(x));
    for (std::uint64_t k = 0; k < summation_height(row.contract, row.logits.size()) + 2; ++k) steps = steps + step;
    const UpperBound size = magnitude * UpperBound(std::fabs(row.auxiliary[0][0]));
    // A sum of numbers of a format is never below its smallest; a product with a power of two may be.
    const UpperBound floor(properties(row.contract.output).smallest_subnormal);
    threshold_ = (expm1(steps) * size + floor).value();
    relative_ = (expm1(steps) * size).value();
    promised = std::isfinite(threshold_) && size.value() < accumulator.largest / 4;
    if (!promised) threshold_ = infinity;
    // Terms that cancel leave no more than their own accuracy.
    resolution = relative_;
  }

  std::string_view claim() const override { return "kernel.scaled_sum.value"; }
  Enclosure value(std::size_t) override {
    Enclosure sum(0);
    for (const double x : row_.logits) sum += Enclosure(x);
    return sum * Enclosure(row_.auxiliary[0][0]);
  }
  double threshold(std::size_t) override { return threshold_; }
  bool is_vacuous(std::size_t, double magnitude) override { return numerics::is_vacuous(relative_, magnitude); }

 private:
  const RowInputs row_;
  double threshold_ = 0, relative_ = 0;
};

constexpr std::array roles{OpInput{Role::logits}, OpInput{Role::upstream, Extent::rows}};
constexpr std::array<std::string_view, 1> output_names{"output"}, claims{"kernel.scaled_sum.value"};

class ScaledSum final : public RowOp {
 public:
  constexpr ScaledSum()
      : RowOp({.name = "scaled_sum",
               .inputs = roles,
               .outputs = output_names,
               .claims = claims,
               .one_value_per_row = true,
               .has_theta = false,
               .takes_mask = false,
               .takes_infinities = false,
               .number = number_of_toy,
               .answers = {.masked_rows = false}}) {}

  std::vector<std::vector<double>> input_values(Format, std::span<const double> logits,
                                                std::uint64_t auxiliary) const override {
    // Of either sign, by the row's first logit: rows of one call have factors of their own.
    const double factor = std::ldexp(1.0 + static_cast<double>(auxiliary % 2) / 2, static_cast<int>(auxiliary % 5));
    const bool negative = !logits.empty() && logits[0] < 0;
    // Sums of larger ones would overflow, of which the toy's contract says nothing.
    std::vector<double> numbers;
    for (const double x : logits) numbers.push_back(std::clamp(x, -0x1p100, 0x1p100));
    return {numbers, {negative ? -factor : factor}};
  }
  std::unique_ptr<RowElements> elements(const RowInputs& row) const override {
    return std::make_unique<ScaledSumElements>(row);
  }
};

constinit const ScaledSum toy;

float at(const DLTensor& tensor, std::int64_t row, std::int64_t column) {
  const std::int64_t width = tensor.ndim > 1 ? tensor.shape[1] : 1;
  const std::int64_t row_stride = tensor.strides != nullptr ? tensor.strides[0] : width;
  const std::int64_t column_stride = tensor.strides != nullptr && tensor.ndim > 1 ? tensor.strides[1] : 1;
  const auto* first = numbers_of<const float>(tensor);
  return first[row * row_stride + column * column_stride];
}

using Compute = std::function<float(std::int64_t row, const DLTensor& logits, const DLTensor& factors)>;

int scaled_sum(const softcheck_call& call, const Compute& compute) {
  const softcheck_call_2* whole = softcheck_version_2(&call);
  if (whole == nullptr || whole->op != number_of_toy || call.n_inputs != 2 ||
      whole->input_roles[0] != SOFTCHECK_ROLE_LOGITS || whole->input_roles[1] != SOFTCHECK_ROLE_UPSTREAM ||
      whole->attributes->size != sizeof(softcheck_attributes)) {
    return 1;
  }
  const DLTensor& out = *call.outputs[0];
  auto* results = numbers_of(out);
  const std::int64_t stride = out.strides != nullptr ? out.strides[0] : 1;
  for (std::int64_t r = 0; r < out.shape[0]; ++r) {
    // A sum of nothing is what an empty row has.
    results[r * stride] = call.inputs[0]->shape[1] == 0 ? 0 : compute(r, *call.inputs[0], *call.inputs[1]);
  }
  return 0;
}

float sum_of(const DLTensor& logits, std::int64_t row, std::int64_t columns) {
  float sum = 0;
  for (std::int64_t i = 0; i < columns; ++i) sum += at(logits, row, i);
  return sum;
}

KernelSubject subject_of(const Compute& compute) {
  return own_subject([compute](const softcheck_call* call) { return scaled_sum(*call, compute); },
                     {.op = toy, .contract = "sum=sequential"});
}

KernelSubject right() {
  return subject_of([](std::int64_t row, const DLTensor& logits, const DLTensor& factors) {
    return at(factors, row, 0) * sum_of(logits, row, logits.shape[1]);
  });
}

JudgeOptions quick() {
  JudgeOptions options = quick_options();
  options.max_length = 4096;
  return options;
}

TEST(ToyOp, ARightKernelPasses) {
  const KernelJudgement judgement = judge_kernel(right(), quick());
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass)
      << judgement.failed_property << (judgement.counterexample ? " " + judgement.counterexample->case_text : "")
      << (judgement.notes.empty() ? "" : " " + judgement.notes.front());
  EXPECT_GT(judgement.rows, 1000u);
  EXPECT_EQ(judgement.refused, 0u);
}

TEST(ToyOp, AKernelThatForgetsTheLastItemFailsOnTheSmallestRow) {
  const KernelSubject subject = subject_of([](std::int64_t row, const DLTensor& logits, const DLTensor& factors) {
    return at(factors, row, 0) * sum_of(logits, row, logits.shape[1] - 1);
  });
  const KernelJudgement judgement = judge_kernel(subject, quick());
  ASSERT_EQ(judgement.verdict, ReportVerdict::fail);
  ASSERT_TRUE(judgement.counterexample);
  EXPECT_EQ(judgement.counterexample->case_text, "row f32 theta=0x1p+0 0x1p+0");
  const KernelJudgement again =
      replay_kernel(subject, judgement.failed_property, judgement.counterexample->case_text, quick());
  EXPECT_EQ(again.verdict, ReportVerdict::fail);
}

// Only a call of rows with factors of their own shows it.
TEST(ToyOp, AKernelThatTakesTheFirstRowsFactorForAllFails) {
  const KernelSubject subject = subject_of([](std::int64_t row, const DLTensor& logits, const DLTensor& factors) {
    return at(factors, 0, 0) * sum_of(logits, row, logits.shape[1]);
  });
  const KernelJudgement judgement = judge_kernel(subject, quick());
  ASSERT_EQ(judgement.verdict, ReportVerdict::fail);
  ASSERT_TRUE(judgement.counterexample);
  EXPECT_TRUE(judgement.counterexample->case_text.starts_with("matrix f32 columns=1 "))
      << judgement.counterexample->case_text;
}

// The simplest of what may stand beside the logits does not show it, and stays in the case's text.
TEST(ToyOp, AKernelThatForgetsTheFactorFailsByItsSimplestOne) {
  const KernelSubject subject = subject_of([](std::int64_t row, const DLTensor& logits, const DLTensor& factors) {
    return (at(factors, row, 0) < 0 ? -1.0f : 1.0f) * sum_of(logits, row, logits.shape[1]);
  });
  const KernelJudgement judgement = judge_kernel(subject, quick());
  ASSERT_EQ(judgement.verdict, ReportVerdict::fail);
  ASSERT_TRUE(judgement.counterexample);
  EXPECT_EQ(judgement.counterexample->case_text, "row f32 theta=0x1p+0 beside=1 0x1p+0");
  // Whoever reads it sees what the number stands for.
  const std::string witness = judgement.counterexample->failed.at(0).witness;
  EXPECT_THAT(witness, HasSubstr("(logits 0x1p+0, upstream 0x1.8p+1)"));
}

TEST(ToyOp, ItsValuesAreEnclosedAndItsThresholdsKnown) {
  const Contract contract = right().contract;
  const auto [lower, upper, allowed] = RowBounds(toy, contract, {1, 2, 4}, 1, {{0.5}});
  EXPECT_EQ(lower[0], 3.5);
  EXPECT_EQ(upper[0], 3.5);
  EXPECT_GT(allowed[0], 0);
  EXPECT_LT(allowed[0], 1e-5);
}

TEST(ToyOp, ItsOrderOfAdditionIsInferred) {
  const Inference inference = infer_contract(right(), quick());
  ASSERT_TRUE(inference.contract) << inference.failure;
  EXPECT_EQ(inference.contract->accumulator, Format::f32);
}

}  // namespace
}  // namespace softcheck::proptests
