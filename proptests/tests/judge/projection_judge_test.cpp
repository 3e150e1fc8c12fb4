// Sparsemax and entmax of alpha = 1.5: what a kernel may return, which of its zeros are exact, what rows are drawn for
// them.
#include "judge/inference/contract_inference.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

bool is_projection(Op op, const Row& logits, const Row& got, const char* words) {
  const RowVerdicts verdicts = verdicts_of(op, logits, got, {.contract = words});
  return !verdicts.findings.empty() && all_hold(verdicts);
}
bool is_sparsemax(const Row& logits, const Row& got, const char* words = "acc=f32 masked=zero") {
  return is_projection(Op::sparsemax, logits, got, words);
}
bool is_entmax(const Row& logits, const Row& got, const char* words = "acc=f32 masked=zero") {
  return is_projection(Op::entmax15, logits, got, words);
}

TEST(SparsemaxJudge, TheProjectionIsRight) {
  EXPECT_TRUE(is_sparsemax({0.25, 0}, {0.625, 0.375}));
  EXPECT_TRUE(is_sparsemax({3, 0}, {1, 0}));
  EXPECT_TRUE(is_sparsemax({5, 5, 5, 5}, {0.25, 0.25, 0.25, 0.25}));
  EXPECT_TRUE(is_sparsemax({0.5, 0, -0.25, -4}, {0.75, 0.25, 0, 0}));
  EXPECT_TRUE(is_sparsemax({0, -infinity}, {1, 0}));
  EXPECT_FALSE(is_sparsemax({0.25, 0}, {0.5625, 0.4375}));
  EXPECT_FALSE(is_sparsemax({0.25, 0}, {0.625, 0.375 + 0x1p-20}));
  EXPECT_FALSE(is_sparsemax({0.25, 0}, {0.625, nan}));
  EXPECT_FALSE(is_sparsemax({0.25, 0}, {0, 0}));
}

TEST(SparsemaxJudge, AZeroBeyondTheSupportIsExact) {
  EXPECT_FALSE(is_sparsemax({3, 0}, {1, 1e-30}));
  EXPECT_FALSE(is_sparsemax({3, 0}, {1, -0.0}));
  EXPECT_FALSE(is_sparsemax({3, 0}, {1, -2}));
  EXPECT_FALSE(is_sparsemax({0, -infinity}, {1, 1e-30}));
  EXPECT_FALSE(is_sparsemax({0.25, 0}, {0.625, -0.0}));
  // At the edge of it a coefficient of 0 may come out as a rounding of the largest one.
  EXPECT_TRUE(is_sparsemax({1, 0}, {1, 0}));
  EXPECT_TRUE(is_sparsemax({1, 0}, {1 - 0x1p-24, 0x1p-24}));
  EXPECT_FALSE(is_sparsemax({1, 0}, {1 - 0x1p-18, 0x1p-18}));
  EXPECT_TRUE(is_sparsemax({1 + 0x1p-23, 0}, {1, 0x1p-24}));
  EXPECT_FALSE(is_sparsemax({1 + 0x1p-18, 0}, {1, 0x1p-24}));
}

// Items that a kernel cannot tell from the edge move the others by what they may weigh.
TEST(SparsemaxJudge, ItemsAtTheEdgeMoveTheOthers) {
  // 0.25 is left of the condition of each of 4096 items. The two sides of item k err by 0.75 k^2 2^-24 in sequence: a
  // kernel may end from item 2364 on.
  Row logits(4097, -0.75);
  logits[0] = 0;
  const auto ended_behind = [&](std::size_t kept) {
    Row row(logits.size(), 0);
    const double each = 0.25 / static_cast<double>(kept);
    row[0] = 0.75 + each;
    std::fill_n(row.begin() + 1, kept - 1, each);
    return row;
  };
  EXPECT_TRUE(is_sparsemax(logits, ended_behind(4097)));
  EXPECT_TRUE(is_sparsemax(logits, ended_behind(2400)));
  EXPECT_FALSE(is_sparsemax(logits, ended_behind(100)));
  EXPECT_FALSE(is_sparsemax(logits, ended_behind(1)));
  EXPECT_FALSE(is_sparsemax(logits, ended_behind(2400), "acc=f32 sum=tree"));
}

// Most of the weight lies close to the edge: the height of the whole row is not that of the prefix which an item is
// compared with.
TEST(SparsemaxJudge, ARowThatDispersesIsNotVacuous) {
  Row logits(0x1p17, -0x1p-5 + 0x1p-13);
  std::fill_n(logits.begin(), 16, 0.0);
  std::fill(logits.begin() + 4112, logits.end(), -1.0);
  const double top = (1 + 4096 * (0x1p-5 - 0x1p-13)) / 4112;
  Row exact(logits.size(), 0);
  std::fill_n(exact.begin(), 16, top);
  std::fill_n(exact.begin() + 16, 4096, top - 0x1p-5 + 0x1p-13);
  const RowVerdicts verdicts = verdicts_of(Op::sparsemax, logits, exact, {.contract = "acc=f32"});
  EXPECT_EQ(verdicts.findings.at(0).decision, Decision::proved);
  EXPECT_EQ(verdicts.vacuity.judged, 4112U);
  EXPECT_EQ(verdicts.vacuity.vacuous, 0U);
}

TEST(SparsemaxJudge, LogitsThatAreLargeCostNothing) {
  for (const double shift : {0.0, 4096.0, -0x1p20}) {
    EXPECT_TRUE(is_sparsemax({shift + 0.25, shift}, {0.625, 0.375}));
    EXPECT_FALSE(is_sparsemax({shift + 0.25, shift}, {0.625 + 0x1p-20, 0.375 - 0x1p-20}));
  }
  // Unless the accumulator cannot hold them.
  EXPECT_TRUE(is_sparsemax({1000.25, 1000}, {0.5, 0.5}, "acc=bf16"));
  EXPECT_FALSE(is_sparsemax({1000.25, 1000}, {0.5, 0.5}));
}

TEST(SparsemaxJudge, ARowWithNothingVisibleIsAsTheContractSays) {
  const Row nothing(4, -infinity);
  EXPECT_TRUE(is_sparsemax(nothing, {0, 0, 0, 0}));
  EXPECT_FALSE(is_sparsemax(nothing, {nan, nan, nan, nan}));
  EXPECT_TRUE(is_sparsemax(nothing, {nan, nan, nan, nan}, "acc=f32 masked=nan"));
  EXPECT_TRUE(is_sparsemax(nothing, {0.25, 0.25, 0.25, 0.25}, "acc=f32 masked=uniform"));
}

// Rows of any kind have supports of all sizes, and items at their edge.
TEST(SparsemaxJudge, RowsWithASupportAreDrawn) {
  const RowOp& op = Op::sparsemax.rows();
  const Row row{8, -infinity, -8, 0};
  const auto values = [&](std::uint64_t auxiliary) { return op.input_values(Format::f32, row, auxiliary)[0]; };
  EXPECT_EQ(values(0), row);
  EXPECT_EQ(values(1), row);
  EXPECT_EQ(values(2), (Row{0, -infinity, -0.5, -0.25}));
  EXPECT_EQ(values(4), (Row{0, -infinity, -4, -2}));
  const Row edge = values(6 + 8);  // two items share the largest logit
  EXPECT_EQ(edge[0], 0);
  EXPECT_EQ(edge[2], 0);
  EXPECT_EQ(edge[3], -0.5 + 0x1p-23);  // the third item: two units of f32 above where the support ends
  EXPECT_EQ(op.input_values(Format::f32, Row{}, 6)[0], Row{});
}

TEST(SparsemaxJudge, ItsValuesAreEnclosed) {
  const Contract contract = parse_contract("acc=f32", Format::f32, Format::f32);
  const Row logits{0.5, 0, -0.25, -4, -infinity};
  const auto [lower, upper, allowed] = RowBounds(Op::sparsemax, contract, logits);
  EXPECT_EQ(lower, (Row{0.75, 0.25, 0, 0, 0}));
  EXPECT_EQ(upper, lower);
  EXPECT_GT(allowed[0], 0);
  EXPECT_LT(allowed[0], 1e-6);
  EXPECT_EQ(allowed[3], 0);
  EXPECT_EQ(allowed[4], 0);
}

// Labelled full: SparsemaxJudge.AContractIsInferred
TEST(SparsemaxJudge, AContractIsInferred) {
  const Inference inference =
      infer_contract(zoo_subject("correct_sparsemax", {.op = Op::sparsemax}), quick_options({}, 40));
  ASSERT_TRUE(inference.contract) << inference.failure;
  EXPECT_EQ(inference.contract->accumulator, Format::f32);
  EXPECT_EQ(inference.contract->masked, MaskedRows::nan);
}

TEST(Entmax15Judge, TheProjectionIsRight) {
  // Roots of 4/5 and 3/5.
  const double high = round_to(Format::f32, 0.64), low = round_to(Format::f32, 0.36), gap = round_to(Format::f32, 0.4);
  EXPECT_TRUE(is_entmax({gap, 0}, {high, low}));
  EXPECT_TRUE(is_entmax({5, 5, 5, 5}, {0.25, 0.25, 0.25, 0.25}));
  EXPECT_TRUE(is_entmax({6, 0}, {1, 0}));
  EXPECT_TRUE(is_entmax({0, -infinity}, {1, 0}));
  EXPECT_FALSE(is_entmax({gap, 0}, {0.7, 0.3}));  // sparsemax's
  EXPECT_FALSE(is_entmax({gap, 0}, {high, low + 0x1p-19}));
  EXPECT_FALSE(is_entmax({gap, 0}, {high, nan}));
  EXPECT_FALSE(is_entmax({gap, 0}, {0, 0}));
}

TEST(Entmax15Judge, AZeroBeyondTheSupportIsExact) {
  EXPECT_FALSE(is_entmax({6, 0}, {1, 1e-30}));
  EXPECT_FALSE(is_entmax({6, 0}, {1, -0.0}));
  EXPECT_FALSE(is_entmax({0, -infinity}, {1, 1e-30}));
  EXPECT_FALSE(is_entmax({0.25, 0}, {0.5, -0.0}));
  // At the edge a root of 0 may come out as a rounding of the largest one; its square is far less.
  EXPECT_TRUE(is_entmax({2, 0}, {1, 0}));
  EXPECT_TRUE(is_entmax({2, 0}, {1, 0x1p-46}));
  EXPECT_FALSE(is_entmax({2, 0}, {1, 0x1p-36}));
  EXPECT_FALSE(is_entmax({2 + 0x1p-16, 0}, {1, 0x1p-46}));
}

// A kernel that cannot tell items from the edge takes in all of them, and its root has the errors of their sums.
TEST(Entmax15Judge, ItemsThatMayBeTakenInWidenTheError) {
  const double beyond = -2 - 0x1p-21;
  Row logits(1001, beyond), less(logits.size(), 0);
  logits[0] = 0;
  less[0] = 1 - 0x1p-17;
  EXPECT_TRUE(is_entmax(logits, less));
  EXPECT_FALSE(is_entmax({0, beyond}, {less[0], 0}));
  // In f64 they are far smaller, and items farther away have no part in it.
  EXPECT_FALSE(is_entmax(logits, less, "acc=f64"));
  std::fill(logits.begin() + 1, logits.end(), -2.5);
  EXPECT_FALSE(is_entmax(logits, less));
}

TEST(Entmax15Judge, LogitsThatAreLargeCostNothing) {
  for (const double shift : {0.0, 4096.0, -0x1p20}) {
    EXPECT_TRUE(is_entmax({shift + 6, shift}, {1, 0}));
    EXPECT_TRUE(is_entmax({shift, shift, shift, shift}, {0.25, 0.25, 0.25, 0.25}));
    EXPECT_FALSE(is_entmax({shift, shift, shift, shift}, {0.25, 0.25, 0.25, 0.25 + 0x1p-20}));
  }
  // Unless the accumulator cannot hold them.
  EXPECT_TRUE(is_entmax({1000.25, 1000}, {0.5, 0.5}, "acc=bf16"));
  EXPECT_FALSE(is_entmax({1000.25, 1000}, {0.5, 0.5}));
}

TEST(Entmax15Judge, ARowWithNothingVisibleIsAsTheContractSays) {
  const Row nothing(4, -infinity);
  EXPECT_TRUE(is_entmax(nothing, {0, 0, 0, 0}));
  EXPECT_FALSE(is_entmax(nothing, {nan, nan, nan, nan}));
  EXPECT_TRUE(is_entmax(nothing, {0.25, 0.25, 0.25, 0.25}, "acc=f32 masked=uniform"));
}

TEST(Entmax15Judge, RowsWithASupportAreDrawn) {
  const Row row{8, -infinity, -8, 0};
  const auto values = [&](std::uint64_t auxiliary) {
    return Op::entmax15.rows().input_values(Format::f32, row, auxiliary)[0];
  };
  EXPECT_EQ(values(0), row);
  EXPECT_EQ(values(2), (Row{0, -infinity, -1, -0.5}));
  EXPECT_EQ(values(4), (Row{0, -infinity, -8, -4}));
  const Row edge = values(6 + 24);  // four items share the largest logit
  EXPECT_EQ(edge[0], 0);
  EXPECT_EQ(edge[3], 0);
  const Row beyond = Op::entmax15.rows().input_values(Format::f32, {Row{8, 0, 1}}, 6)[0];
  EXPECT_EQ(beyond[1], -2 + 0x1p-22);  // three units of f32 inside the support, to even
}

TEST(Entmax15Judge, ItsValuesAreEnclosed) {
  const Contract contract = parse_contract("acc=f32", Format::f32, Format::f32);
  const Row logits{0, 0, 0, 0, -8, -infinity};
  const auto [lower, upper, allowed] = RowBounds(Op::entmax15, contract, logits);
  EXPECT_EQ(lower, (Row{0.25, 0.25, 0.25, 0.25, 0, 0}));
  EXPECT_EQ(upper, lower);
  EXPECT_GT(allowed[0], 0);
  EXPECT_LT(allowed[0], 1e-6);
  EXPECT_EQ(allowed[4], 0);
  EXPECT_EQ(allowed[5], 0);
}

}  // namespace
}  // namespace softcheck::proptests
