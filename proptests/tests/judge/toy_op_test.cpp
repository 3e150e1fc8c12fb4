// An op that only this file knows: one object, and it is judged, shrunk, replayed, shown and its values enclosed.
#include "judge/inference/contract_inference.hpp"
#include "proptests/tests/additions/scaled_sum.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

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
  if (whole == nullptr || whole->op != scaled_sum_number || call.n_inputs != 2 ||
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
