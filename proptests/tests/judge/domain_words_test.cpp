// A word of --domain that asks for an attribute of a call leaves no other kind of call out.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "judge/kernel_judge.hpp"
#include "judge/ops/rows/row_call.hpp"
#include "judge/trial/effort.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;

struct RequestedAttribute {
  Op op;
  const char* kernel;
  const char* contract;
  const char* word;

  friend std::ostream& operator<<(std::ostream& out, const RequestedAttribute& one) { return out << one.word; }
};

class DomainWords : public ::testing::TestWithParam<RequestedAttribute> {};

TEST_P(DomainWords, ThatAskForAnAttributeKeepNansAndLayouts) {
  const RequestedAttribute& asked = GetParam();
  KernelSubject subject;
  subject.source = {SOFTCHECK_KERNEL_DIR "/libsoftcheck_zoo.so", asked.kernel};
  subject.op = asked.op;
  subject.contract = numerics::parse_contract(asked.contract, Format::f32, output_format(asked.op, Format::f32));
  subject.domain = domain_of(asked.word, asked.op);
  JudgeOptions options = judge_options(Effort::quick);
  options.only = {"ANanLogitMakesItsRowNan", "LayoutsAndNeighboursDoNotMatter"};
  const KernelJudgement judgement = judge_kernel(subject, options);
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass);
  std::size_t nans = 0, strided = 0;
  for (const PropertyFinding& property : judgement.properties) {
    const auto found = property.outcome.claims.find("kernel.nan_row");
    if (found != property.outcome.claims.end()) nans += found->second.decided;
  }
  for (const Coverage::Entry& entry : judgement.coverage.entries()) {
    if (entry.dimension == "input layout" && entry.name == "column stride") strided += entry.calls;
  }
  EXPECT_GT(nans, 0U);
  EXPECT_GT(strided, 0U);
}

INSTANTIATE_TEST_SUITE_P(Ops, DomainWords,
                         ::testing::Values(RequestedAttribute{Op::cross_entropy_mean, "correct_cross_entropy_mean",
                                                              "sum=sequential masked=nan", "reduction=mean"},
                                           RequestedAttribute{Op::cross_entropy_mean, "correct_cross_entropy_mean",
                                                              "sum=sequential masked=nan", "reduction=sum"},
                                           RequestedAttribute{Op::merge_states, "correct_merge_states",
                                                              "sum=sequential masked=zero", "base=2"},
                                           RequestedAttribute{Op::topk_softmax, "correct_topk_softmax",
                                                              "sum=sequential masked=nan ties=lowest",
                                                              "renormalize=1"}));

/// Is a tensor contiguous, and compact where the call is?
void expect_strides_of(const TensorPlace& place, bool compact_call, const std::string& called) {
  const std::vector<std::int64_t> strides = place.strides_in_use();
  std::int64_t compact = 1;
  for (std::size_t d = place.shape.size(); d-- > 0;) {
    const bool innermost = d + 1 == place.shape.size();
    if (place.shape[d] > 1 && (compact_call || innermost)) {
      EXPECT_EQ(strides[d], compact) << called << ", dimension " << d;
    }
    compact *= place.shape[d];
  }
}

TEST(DomainWordsOfStrides, HoldForEveryTensorOfACall) {
  for (const Op op : row_ops()) {
    for (const MatrixLayout& layout : {MatrixLayout{}, MatrixLayout{3, 1}, MatrixLayout{8, 1}, MatrixLayout{8, 1, 1}}) {
      RowMatrixCase matrix;
      matrix.rows = {RunLengthRow({{0.5, 3}}), RunLengthRow({{1, 3}}), RunLengthRow({{2, 3}}), RunLengthRow({{4, 3}})};
      matrix.columns = 3;
      matrix.in = matrix.out = matrix.visible = layout;
      const CallTraits traits = traits_of(matrix, op);
      ASSERT_TRUE(traits.contiguous);
      ASSERT_EQ(traits.compact, layout.row_stride != 8);
      const TensorCall call = call_of(matrix, op, {Format::f32, output_format(op, Format::f32)});
      const std::string called = std::string(op->name) + " with rows " + std::to_string(layout.row_stride) + " apart: ";
      for (std::size_t k = 0; k < call.inputs.size(); ++k) {
        expect_strides_of(call.inputs[k].place, traits.compact, called + "input " + std::to_string(k));
      }
      for (std::size_t k = 0; k < call.outputs.size(); ++k) {
        expect_strides_of(call.outputs[k].place, traits.compact, called + "output " + std::to_string(k));
      }
    }
  }
}

}  // namespace
}  // namespace softcheck::proptests
