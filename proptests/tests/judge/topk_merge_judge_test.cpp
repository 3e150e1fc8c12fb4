// Top-k: what a kernel may choose and weigh, how a call says k, what ids a row without a softmax has.
#include "judge/ops/topk_softmax/topk_choice.hpp"
#include "proptests/tests/judge/our_kernels.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr const char* usual = "acc=f32 exp=1ulp masked=zero";

struct Answer {
  Row weights, ids;
  bool renormalize = false;
};

using Claims = std::vector<std::string>;

// Those of the claims that a row does not keep.
Claims broken(const Row& logits, const Answer& answer, const char* words = usual) {
  Row got = answer.weights;
  got.insert(got.end(), answer.ids.begin(), answer.ids.end());
  const Attributes attributes{.k = static_cast<std::int32_t>(answer.ids.size()), .renormalize = answer.renormalize};
  return broken_claims(verdicts_of(Op::topk_softmax, logits, got, {.contract = words, .attributes = attributes}));
}

// softmax at these items, rounded to f32.
Row weights_of(const Row& logits, const Row& ids, bool renormalize) {
  const double maximum = *std::ranges::max_element(logits);
  double sum = 0, chosen = 0;
  for (const double x : logits) sum += std::exp(x - maximum);
  Row weights;
  for (const double id : ids) weights.push_back(std::exp(logits[static_cast<std::size_t>(id)] - maximum) / sum);
  for (const double w : weights) chosen += w;
  for (double& w : weights) w = round_to(Format::f32, renormalize ? w / chosen : w);
  return weights;
}

Answer answer_of(const Row& logits, const Row& ids, bool renormalize = false) {
  return {weights_of(logits, ids, renormalize), ids, renormalize};
}

const Row row{1, 3, 2, 0};

TEST(TopkSoftmaxJudge, TheLargestItemsInTheirOrderAreRight) {
  for (const bool renormalize : {false, true}) {
    EXPECT_EQ(broken(row, answer_of(row, {1}, renormalize)), Claims{});
    EXPECT_EQ(broken(row, answer_of(row, {1, 2}, renormalize)), Claims{});
    EXPECT_EQ(broken(row, answer_of(row, {1, 2, 0, 3}, renormalize)), Claims{});
  }
}

TEST(TopkSoftmaxJudge, AnotherSetOrOrderIsFoundThoughItsWeightsAreRight) {
  EXPECT_EQ(broken(row, answer_of(row, {1, 0})), Claims{"ids"});
  EXPECT_EQ(broken(row, answer_of(row, {2, 1})), Claims{"order"});
  EXPECT_EQ(broken(row, answer_of(row, {0, 3})), Claims{"ids"});
  EXPECT_EQ(broken(row, answer_of(row, {0, 1, 2, 3})), Claims{"order"});
  EXPECT_EQ(broken(row, answer_of(row, {1, 0}, true)), Claims{"ids"});
}

TEST(TopkSoftmaxJudge, AnIdIsAnItemAndStandsOnce) {
  const Row weights = weights_of(row, {1, 2}, false);
  EXPECT_EQ(broken(row, {weights, {1, 1}}), Claims{"ids"});
  EXPECT_EQ(broken(row, {weights, {1, 4}}), Claims{"ids"});
  EXPECT_EQ(broken(row, {weights, {1, -1}}), Claims{"ids"});
}

// By the item's own softmax, not by the rank's.
TEST(TopkSoftmaxJudge, AWeightIsThatOfItsId) {
  EXPECT_EQ(broken(row, {weights_of(row, {1, 1}, false), {1, 2}}), Claims{"weight"});
  EXPECT_EQ(broken(row, {weights_of(row, {1, 2}, true), {1, 2}, false}), Claims{"weight"});
  EXPECT_EQ(broken(row, {weights_of(row, {1, 2}, false), {1, 2}, true}), Claims{"weight"});
  EXPECT_EQ(broken(row, {{3, 2}, {1, 2}}), Claims{"weight"});
  EXPECT_EQ(broken(row, {{nan, 2}, {1, 2}}), Claims{"weight"});
  // A long sum grants more, but never a weight above 1.
  Row far(1000, -100);
  far[0] = 0;
  EXPECT_EQ(broken(far, {{1 + 0x1p-23}, {0}}), Claims{});
  EXPECT_EQ(broken(far, {{1 + 0x1p-16}, {0}}), Claims{"weight"});
  EXPECT_EQ(broken(far, {{1 - 0x1p-16}, {0}}), Claims{});
  const Row sharp{0, -200};
  EXPECT_EQ(broken(sharp, {{1, 0}, {0, 1}}), Claims{});
  EXPECT_EQ(broken(sharp, {{1, -0.0}, {0, 1}}), Claims{"weight"});
}

TEST(TopkSoftmaxJudge, EqualItemsAreExchangedUnlessTheContractSaysTheLowest) {
  const Row ties{1, 2, 2, 2};
  const char* lowest = "acc=f32 exp=1ulp masked=zero ties=lowest";
  EXPECT_EQ(broken(ties, answer_of(ties, {3, 1})), Claims{});
  EXPECT_EQ(broken(ties, answer_of(ties, {1, 2}), lowest), Claims{});
  EXPECT_EQ(broken(ties, answer_of(ties, {1, 3}), lowest), Claims{"ids"});
  EXPECT_EQ(broken(ties, answer_of(ties, {2, 1}), lowest), Claims{"order"});
}

// One unit in the last place is less than two exponentials err by; 2^-16 is more.
TEST(TopkSoftmaxJudge, NearlyEqualItemsAreExchangedWithinWhatIsGranted) {
  const Row close{1, 1 - 0x1p-24, 1 - 0x1p-16};
  EXPECT_EQ(broken(close, answer_of(close, {1})), Claims{});
  EXPECT_EQ(broken(close, answer_of(close, {1, 0})), Claims{});
  EXPECT_EQ(broken(close, answer_of(close, {2})), Claims{"ids"});
  EXPECT_EQ(broken(close, answer_of(close, {2, 0})), (Claims{"ids", "order"}));
  // Coefficients that bf16 holds are equal more often.
  EXPECT_EQ(broken(close, answer_of(close, {2}), "acc=f32 exp=1ulp weights=bf16"), Claims{});
}

TEST(TopkSoftmaxJudge, AnItemOfMinusInfinityComesLastAndWeighsNothing) {
  const Row hidden{-infinity, 1, -infinity, 2};
  EXPECT_EQ(broken(hidden, {weights_of(hidden, {3, 1, 0}, false), {3, 1, 0}}), Claims{});
  EXPECT_EQ(broken(hidden, {weights_of(hidden, {3, 1, 2}, true), {3, 1, 2}, true}), Claims{});
  EXPECT_EQ(broken(hidden, answer_of(hidden, {3, 0})), Claims{"ids"});
  EXPECT_EQ(broken(hidden, answer_of(hidden, {3, 0, 1})), Claims{"order"});
  EXPECT_EQ(broken(hidden, {{weights_of(hidden, {3, 1}, false)[0], 0.25, 1e-30}, {3, 1, 2}}), Claims{"weight"});
  // A coefficient below all numbers of the format is no larger than one of an item that is not there.
  const Row lost{0, -200, -infinity};
  EXPECT_EQ(broken(lost, {{1, 0}, {0, 2}}), Claims{});
}

TEST(TopkSoftmaxJudge, ARowWithNothingVisibleHasTheWeightsOfTheContractAndAnyItems) {
  const Row nothing(3, -infinity);
  EXPECT_EQ(broken(nothing, {{0, 0}, {0, 0}}), Claims{});
  EXPECT_EQ(broken(nothing, {{0, 0}, {0, 3}}), Claims{"masked_row"});
  EXPECT_EQ(broken(nothing, {{nan, nan}, {0, 1}}), Claims{"masked_row"});
  EXPECT_EQ(broken(nothing, {{nan, nan}, {0, 1}}, "masked=nan"), Claims{});
  EXPECT_EQ(broken(nothing, {{nan, nan}, {0, -1}}, "masked=nan"), Claims{"masked_row"});
  const double third = round_to(Format::f32, 1.0 / 3);
  EXPECT_EQ(broken(nothing, {{third, third}, {0, 1}}, "masked=uniform"), Claims{});
  EXPECT_EQ(broken(nothing, {{0.5, 0.5}, {0, 1}, true}, "masked=uniform"), Claims{});
  EXPECT_EQ(broken(nothing, {{0.5, 0.5}, {0, 1}}, "masked=uniform"), Claims{"masked_row"});
}

TEST(TopkSoftmaxJudge, ACallHasItsAttributesAndIdsOfInt32) {
  const RowMatrixCase matrix = matrix_of_rows(Format::bf16, {{1, 2, 3}, {4, 5, 6}}, 32 + 1);
  const TensorCall call =
      call_of(matrix, Op::topk_softmax, {Format::bf16, output_format(Op::topk_softmax, Format::bf16)});
  EXPECT_EQ(call.roles, (std::vector<Role>{Role::logits}));
  EXPECT_EQ(call.inputs[0].values, (Row{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(call.attributes.k, 2);
  EXPECT_TRUE(call.attributes.renormalize);
  EXPECT_EQ(call.outputs[0].place.format, Format::f32);
  EXPECT_EQ(call.outputs[0].place.shape, (Shape{2, 2}));
  EXPECT_EQ(call.outputs[1].place.format, std::nullopt);
  EXPECT_EQ(call.outputs[1].place.integer_bits, 32);
  EXPECT_EQ(call.outputs[1].place.shape, (Shape{2, 2}));
  EXPECT_EQ(by_row({{1, 2, 3, 4}, {5, 6, 7, 8}}, 2), (Row{1, 2, 5, 6, 3, 4, 7, 8}));
  EXPECT_TRUE(is_index_value(*Op::topk_softmax.operator->(), 2, 3, 2));
  EXPECT_FALSE(is_index_value(*Op::topk_softmax.operator->(), 1, 3, 2));
  EXPECT_EQ(remark_of(Op::topk_softmax, matrix), " (logits 0x1p+0 0x1p+1 0x1.8p+1, k 2, renormalize)");
}

// Vectors of a call have the layout of its rows; traits_of() holds what a domain compares.
TEST(TopkSoftmaxJudge, VectorsLieAsTheCallSays) {
  RowMatrixCase matrix = matrix_of_rows(Format::f32, {{1, 2, 3}, {1, 2, 3}}, 1);
  const auto strides = [&](const MatrixLayout& out) {
    matrix.out = out;
    return call_of(matrix, Op::topk_softmax, {Format::f32, Format::f32}).outputs[1].place.strides;
  };
  EXPECT_EQ(strides({}), Shape{});
  EXPECT_EQ(strides({3, 1}), (Shape{2, 1}));
  EXPECT_EQ(strides({5, 1}), (Shape{5, 1}));
  EXPECT_EQ(strides({8, 2}), (Shape{7, 2}));
  EXPECT_EQ(traits_of(matrix, Op::topk_softmax).lengths.at("k"), 2u);
  EXPECT_FALSE(traits_of(matrix, Op::topk_softmax).compact);
  matrix = matrix_of_rows(Format::f32, {{1}}, 1);
  EXPECT_EQ(strides({4, 2}), (Shape{4, 1}));
  EXPECT_TRUE(traits_of(matrix, Op::topk_softmax).contiguous);
}

TEST(TopkSoftmaxJudge, EveryKOfARowIsDrawnAndADomainLeavesItsOwn) {
  const RowOp& op = Op::topk_softmax.rows();
  std::map<std::int32_t, int> met;
  for (std::uint64_t auxiliary = 0; auxiliary < 64; ++auxiliary) ++met[op.attributes(auxiliary, 40).k];
  for (const std::int32_t k : {1, 2, 6, 8, 16, 20, 32, 39, 40}) EXPECT_GT(met[k], 0) << k;
  EXPECT_LE(met.rbegin()->first, 40);
  EXPECT_EQ(op.attributes(7, 0).k, 0);
  EXPECT_EQ(op.attributes(31, 1).k, 1);
  const auto left = [&](const char* words) {
    const Domain domain = parse_domain(words, false);
    std::map<std::pair<std::int32_t, bool>, int> ks;
    for (std::uint64_t auxiliary = 0; auxiliary < 64; ++auxiliary) {
      const Attributes a =
          op.attributes((auxiliary & ~op.closed_auxiliaries(domain)) | op.set_auxiliaries(domain), 4000);
      ++ks[{a.k, a.renormalize}];
    }
    return ks;
  };
  EXPECT_EQ(left("k=6 renormalize=1"), (std::map<std::pair<std::int32_t, bool>, int>{{{6, true}, 64}}));
  EXPECT_EQ(left("k<=2 renormalize=0").size(), 2u);
  EXPECT_EQ(left("").size(), 48u);
  EXPECT_THROW(parse_domain("renormalize=0 renormalize=1", false), std::invalid_argument);
}

// Merges of partial states: how a call lies in memory, what is granted, what empty parts become.

// The decisions of a row of these log-sum-exps, whose outputs are of one column: of out, then of lse.
std::vector<Decision> decided(const Row& lse, const Row& outputs, double out, double merged, bool base_2 = false) {
  const RowVerdicts verdicts =
      verdicts_of(Op::merge_states, lse, {out, merged}, {.auxiliary = {outputs}, .attributes = {.lse_base2 = base_2}});
  std::vector<Decision> decisions;
  for (const ValueFinding& finding : verdicts.findings) decisions.push_back(finding.decision);
  return decisions;
}

constexpr Decision right_merge = Decision::proved, wrong = Decision::violated;
using Decisions = std::vector<Decision>;

TEST(MergeStatesJudge, EqualPartsGiveTheirMeanAndTheLogarithmOfTheirNumber) {
  const double two = std::log(2.0);
  EXPECT_EQ(decided({3, 3}, {1, 2}, 1.5, round_to(Format::f32, 3 + two)), (Decisions{right_merge, right_merge}));
  EXPECT_EQ(decided({3, 3}, {1, 2}, 1.5, 4, true), (Decisions{right_merge, right_merge}));
  EXPECT_EQ(decided({3, 3}, {1, 2}, 1.5, 4), (Decisions{right_merge, wrong}));
  EXPECT_EQ(decided({3, 3}, {1, 2}, 1.5 + 0x1p-18, round_to(Format::f32, 3 + two)), (Decisions{wrong, right_merge}));
  // In base 2 a part that is 1 below has half the weight.
  EXPECT_EQ(decided({1, 0}, {3, 0}, 2, round_to(Format::f32, std::log2(3.0)), true),
            (Decisions{right_merge, right_merge}));
}

TEST(MergeStatesJudge, AnEmptyPartIsNotThere) {
  EXPECT_EQ(decided({-infinity, 2}, {nan, 5}, 5, 2), (Decisions{right_merge, right_merge}));
  EXPECT_EQ(decided({-infinity, 2}, {nan, 5}, nan, 2), (Decisions{wrong, right_merge}));
  EXPECT_EQ(decided({-infinity, -infinity}, {nan, nan}, 0, -infinity), (Decisions{right_merge}));
  EXPECT_EQ(decided({-infinity, -infinity}, {nan, nan}, 0, 0), (Decisions{wrong}));
  EXPECT_EQ(decided({-infinity, -infinity}, {nan, nan}, nan, -infinity), (Decisions{wrong}));
}

// Of a weight of e^-80 an arithmetic that flushes may lose 2^-126; the errors are those of the parts behind an empty
// one.
TEST(MergeStatesJudge, ALargeOutputOfALittleWeightMayBeOffByWhatIsFlushed) {
  const double out = std::exp(-80) * 0x1p100;
  const auto decided_at = [](double got) { return decided({-infinity, 0, -80}, {nan, 0, 0x1p100}, got, 0); };
  EXPECT_EQ(decided_at(round_to(Format::f32, out + 0x1p-28)), (Decisions{right_merge, right_merge}));
  EXPECT_EQ(decided_at(round_to(Format::f32, out + 0x1p-12)), (Decisions{wrong, right_merge}));
}

// Terms that cancel leave what they were rounded by, and no more.
TEST(MergeStatesJudge, WhatCancelsIsComparedWithItsTerms) {
  EXPECT_EQ(decided({0, 0}, {1, -1}, 0x1p-25, round_to(Format::f32, std::log(2.0))),
            (Decisions{right_merge, right_merge}));
  EXPECT_EQ(decided({0, 0}, {1, -1}, 0x1p-18, round_to(Format::f32, std::log(2.0))), (Decisions{wrong, right_merge}));
}

TEST(MergeStatesJudge, TheTensorsOfACallAreInTheOrderOfTheirRoles) {
  // Three columns, outputs that all differ.
  const RowMatrixCase matrix = matrix_of_rows(Format::f32, {{1, 2}, {3, 4}, {5, 6}}, 1 + 4 * 7);
  const TensorCall call = call_of(matrix, Op::merge_states, {Format::bf16, Format::bf16});
  ASSERT_EQ(call.roles, (std::vector<Role>{Role::out, Role::lse}));
  const InputTensor &outputs = call.inputs[0], &lse = call.inputs[1];
  EXPECT_EQ(outputs.place.shape, (Shape{2, 3, 3}));
  EXPECT_EQ(outputs.place.format, Format::bf16);
  EXPECT_EQ(lse.place.shape, (Shape{2, 3}));
  EXPECT_EQ(lse.place.format, Format::f32);
  EXPECT_EQ(lse.values, (Row{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(call.outputs[0].place.shape, (Shape{3, 3}));
  EXPECT_EQ(call.outputs[0].place.format, Format::bf16);
  EXPECT_EQ(call.outputs[1].place.shape, (Shape{3}));
  EXPECT_EQ(call.outputs[1].place.format, Format::f32);
  // Row 1's outputs of both parts are what the judge takes for it.
  const Row of_row = inputs_of(matrix, Op::merge_states, Format::bf16, 1)[1];
  const Row passed{outputs.values[3],  outputs.values[4],  outputs.values[5],
                   outputs.values[12], outputs.values[13], outputs.values[14]};
  EXPECT_EQ(of_row, passed);
  EXPECT_EQ(std::set<double>(of_row.begin(), of_row.end()).size(), of_row.size());
}

TEST(MergeStatesJudge, ALogSumExpKeepsItsBitsWhereItIsHandedOverByParts) {
  RowMatrixCase matrix = matrix_of_rows(Format::f32, {{1, 2, 3}, {4, 5, 6}});
  matrix.specials = {{1, 2, 0x7fc00001}};
  matrix.in = {7, 2, 1, true};
  const TensorCall call = call_of(matrix, Op::merge_states, {Format::f32, Format::f32});
  EXPECT_EQ(call.inputs[1].patterns, (std::map<std::size_t, std::uint64_t>{{5, 0x7fc00001}}));
  EXPECT_EQ(call.inputs[1].place.strides, (Shape{2, 7}));
}

TEST(MergeStatesJudge, ADomainHasOneBaseOrBoth) {
  const RowOp& op = Op::merge_states.rows();
  const std::uint64_t base = op.set_auxiliaries(parse_domain("base=2", false));
  EXPECT_TRUE(op.attributes(base, 2).lse_base2);
  EXPECT_EQ(op.closed_auxiliaries(parse_domain("base=e", false)), base);
  EXPECT_EQ(op.closed_auxiliaries({}), 0u);
  EXPECT_EQ(op.set_auxiliaries({}), 0u);
  EXPECT_THROW(parse_domain("base=e base=2", false), std::invalid_argument);
}

TEST(MergeStatesJudge, AValueStandsInItsOutput) {
  const auto place = [](Op op, std::size_t i) {
    const ValuePlace of = place_of_value(*op.operator->(), i, 7, 3);
    return std::pair(of.output, of.item);
  };
  using Item = std::optional<std::size_t>;
  EXPECT_EQ(place(Op::merge_states, 2), std::pair(std::size_t{0}, Item(2)));
  EXPECT_EQ(place(Op::merge_states, 3), std::pair(std::size_t{1}, Item()));
  EXPECT_EQ(place(Op::topk_softmax, 4), std::pair(std::size_t{1}, Item(1)));
  EXPECT_EQ(place(Op::softmax, 6), std::pair(std::size_t{0}, Item(6)));
}

const SubjectWords merging{.op = Op::merge_states, .contract = "acc=f32 exp=1ulp masked=zero"};

// out is NaN whatever comes in, lse is 0: of a row that holds a NaN the second is wrong.
int nan_and_zero(const softcheck_call* call) {
  for (const std::size_t k : {0, 1}) {
    const DLTensor& out = *call->outputs[k];
    for (std::int64_t row = 0; row < out.shape[0]; ++row) {
      for (std::int64_t column = 0; column < (k == 0 ? out.shape[1] : 1); ++column) {
        const std::int64_t columns = k == 0 ? out.shape[1] : 1;
        const std::int64_t at = out.strides == nullptr ? row * columns + column
                                                       : row * out.strides[0] + (k == 0 ? column * out.strides[1] : 0);
        numbers_of(out)[at] = k == 0 ? NAN : 0.0F;
      }
    }
  }
  return 0;
}

TEST(MergeStatesJudge, ALogSumExpThatIsNotNanIsNamed) {
  KernelSubject subject = own_subject(nan_and_zero, merging);
  // What out and lse have to be is not the question.
  subject.exempt = {"kernel.merge_states.out", "kernel.merge_states.lse", "kernel.masked_row"};
  const KernelJudgement judgement = judged(subject, {"ANanLogitMakesItsRowNan"});
  ASSERT_TRUE(judgement.counterexample);
  const Certificate& failed = judgement.counterexample->failed.front();
  EXPECT_EQ(failed.claim, "kernel.nan_row");
  EXPECT_TRUE(failed.witness.ends_with(" expected=NaN as lse got=0x0p+0")) << failed.witness;
  EXPECT_THAT(failed.witness, Not(HasSubstr("item=")));
}

TEST(MergeStatesJudge, NoCallOfManyRowsIsWide) {
  constexpr std::int64_t most = 1 << 15;
  const Shared seen;  // a call of more elements, one of a head's dimension
  JudgeOptions options = quick_options({"EveryPairOfClassesIsComputed", "ManyRowsAreEachAsRight"});
  options.rows = 2048;
  options.covers = 1;
  options.cover_elements = most;
  const auto refuses = [&](const softcheck_call* call) {
    const DLTensor& outputs = *call->inputs[0];  // of the parts
    const std::int64_t all = outputs.shape[0] * outputs.shape[1] * outputs.shape[2];
    if (all > std::max(most, outputs.shape[0] * outputs.shape[1])) seen[0] = 1;
    if (outputs.shape[2] >= 64) seen[1] = 1;
    return 1;
  };
  judge_kernel(own_subject(refuses, merging), options);
  EXPECT_EQ(seen[0], 0);
  EXPECT_EQ(seen[1], 1) << "no head's dimension is tried";
}

TEST(MergeStatesJudge, AReportNamesTheOutputsAndTheBase) {
  EXPECT_EQ(remark_of(Op::merge_states, matrix_of_rows(Format::f32, {{1, 0}}, 32)),
            " (lse 0x1p+0 0x0p+0, out 0x1p+0 0x1p+0, lse_base2)");
}

}  // namespace
}  // namespace softcheck::proptests
