// Calls of rows: the plainest one that a failing one becomes, and what words of --domain leave of them.
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

struct RequestedAttribute {
  Op op;
  const char* kernel;
  const char* contract;
  const char* word;

  friend std::ostream& operator<<(std::ostream& out, const RequestedAttribute& one) { return out << one.word; }
};

/// A word of --domain that asks for an attribute of a call leaves no other kind of call out.
class DomainWords : public ::testing::TestWithParam<RequestedAttribute> {};

TEST_P(DomainWords, ThatAskForAnAttributeKeepNansAndLayouts) {
  const RequestedAttribute& asked = GetParam();
  const KernelJudgement judgement =
      judged(zoo_subject(asked.kernel, {.op = asked.op, .contract = asked.contract, .domain = asked.word}),
             {"ANanLogitMakesItsRowNan", "LayoutsAndNeighboursDoNotMatter"});
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
      RowMatrixCase matrix = matrix_of_rows(RowMatrixCase().format, {Row(3, 0.5), Row(3, 1), Row(3, 2), Row(3, 4)});
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

// A call's rows and their auxiliary inputs decide whose inputs they are, not the matrix's address.
TEST(InputsOfRows, AreThoseOfTheirMatrixAlone) {
  for (const Op op : row_ops()) {
    RowMatrixCase matrix = matrix_of_rows(Format::f32, {{1, 2, 3}, {4, 5, 6}});
    InputsOfRows inputs(matrix, op, Format::f32);
    for (std::size_t r = 0; r < 2; ++r) {
      EXPECT_EQ(inputs.at(r), inputs_of(matrix, op, Format::f32, r)) << op->name;
      EXPECT_EQ(inputs.at(r), inputs_of(matrix, op, Format::f32, r)) << op->name << ", read again";
    }
    EXPECT_TRUE(inputs.are_of(RowMatrixCase(matrix))) << op->name;
    RowMatrixCase other = matrix;
    ++other.auxiliary;
    EXPECT_FALSE(inputs.are_of(other)) << op->name;
    other = matrix_of_rows(Format::f32, {{1, 2, 3}, {4, 5, 7}});
    other.auxiliary = matrix.auxiliary;
    EXPECT_FALSE(inputs.are_of(other)) << op->name;
  }
}

// Compact, without a mask, nothing hidden.
TEST(PlainForm, HiddenItemsBecomeTheLowestOfTheirRow) {
  constexpr double hidden = -infinity;
  const Row blind(4, hidden), plain{1, 2, 3, 4};
  RowMatrixCase matrix = matrix_of_rows(Format::f64, {{hidden, 3, -2, hidden}, blind, plain});
  matrix.mask = MaskUse::tensor;
  const RowMatrixCase form = plain_form(matrix);
  EXPECT_EQ(form.mask, MaskUse::none);
  EXPECT_EQ(form.rows[0].expand(), (Row{-2, 3, -2, -2}));
  EXPECT_EQ(form.rows[1].expand(), blind);  // a row without a number has none to take
  EXPECT_EQ(form.rows[2].expand(), plain);
}

}  // namespace
}  // namespace softcheck::proptests
