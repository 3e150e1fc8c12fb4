// Top-k, top-p and min-p: what a kernel may keep and weigh, how a call says them.
#include <numeric>

#include "judge/inference/contract_inference.hpp"
#include "judge/ops/top_p_softmax/selected_items.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr const char* usual_sampling = "acc=f32 exp=1ulp masked=zero";
constexpr const char* lowest = "acc=f32 exp=1ulp masked=zero ties=lowest";

struct Filters {
  double top_p = 0, min_p = 0;
  double theta = 1;
  std::int32_t k = 0;
  bool renormalize = false;
};

using Claims = std::vector<std::string>;

Attributes attributes_of(const Filters& filters) {
  return {.k = filters.k, .renormalize = filters.renormalize, .top_p = filters.top_p, .min_p = filters.min_p};
}

// Those of the claims that a row does not keep.
Claims broken(const Row& logits, const Row& got, const Filters& filters, const char* words = usual_sampling,
              Format output = Format::f32) {
  return broken_claims(
      verdicts_of(Op::top_p_softmax, logits, got,
                  {.contract = words, .output = output, .theta = filters.theta, .attributes = attributes_of(filters)}));
}

// softmax of some items alone, rounded.
Row kept(const Row& logits, const std::vector<std::size_t>& items, double theta = 1, Format format = Format::f32) {
  double maximum = -infinity, sum = 0;
  for (const std::size_t i : items) maximum = std::max(maximum, logits[i]);
  Row weights(logits.size(), 0);
  for (const std::size_t i : items) sum += weights[i] = std::exp((logits[i] - maximum) / theta);
  for (double& w : weights) w = round_to(format, w / sum);
  return weights;
}

// p of 1/2, 1/4, 1/8 and 1/8, but for the logarithm's rounding.
const Row halves{std::log(4.0), std::log(2.0), 0, 0};
// Equal logits: p is 1/4.
const Row equal{3, 3, 3, 3};

// Neither filter leaves an item out, and a kernel does not divide again: its sum's stored rounding stays in the
// weights, also where one of them is lost.
TEST(TopPSoftmaxJudge, ALostWeightBelongsToTheRowThatIsDividedOnce) {
  const char* stored_sum = "acc=f32 exp=1ulp masked=zero total=bf16";
  for (const double far : {-2.0, -200.0}) {
    const Row row{0, -1, far};
    const double sum = round_to(Format::bf16, 1 + std::exp(-1) + std::exp(far));
    Row got;
    for (const double x : row) got.push_back(round_to(Format::f32, std::exp(x) / sum));
    if (far < -100) got[2] = 0;
    EXPECT_EQ(broken(row, got, {}, stored_sum), Claims{}) << far;
    EXPECT_EQ(broken(row, got, {}), Claims{"element"}) << far;
    for (double& x : got) x *= 1.02;
    EXPECT_EQ(broken(row, got, {}, stored_sum), Claims{"element"}) << far;
  }
}

TEST(TopPSoftmaxJudge, TheShortestPrefixThatReachesTopPIsKept) {
  const Row row{1, 3, 2, 0};  // p of 0.087, 0.644, 0.237, 0.032
  EXPECT_EQ(broken(row, kept(row, {1}), {0.6}), Claims{});
  EXPECT_EQ(broken(row, kept(row, {1, 2}), {0.65}), Claims{});
  EXPECT_EQ(broken(row, kept(row, {1, 2, 0}), {0.9}), Claims{});
  EXPECT_EQ(broken(row, kept(row, {0, 1, 2, 3}), {1}), Claims{});
  EXPECT_EQ(broken(row, kept(row, {0, 1, 2, 3}), {}), Claims{});
  EXPECT_EQ(broken(row, kept(row, {1}), {0x1p-20}), Claims{});
  EXPECT_EQ(broken(row, kept(row, {1}), {0.65}), Claims{"kept"});
  EXPECT_EQ(broken(row, kept(row, {1, 2}), {0.6}), Claims{"kept"});
  EXPECT_EQ(broken(row, kept(row, {1, 2}), {0.9}), Claims{"kept"});
  EXPECT_EQ(broken(row, kept(row, {1, 2, 0}), {1}), Claims{"kept"});
  EXPECT_EQ(broken(row, kept(row, {1, 2, 0}), {}), Claims{"kept"});
  EXPECT_EQ(broken(row, kept(row, {1, 2}), {0x1p-20}), Claims{"kept"});
}

// Two units of the last place beyond what is granted: closer than the filter's own errors.
TEST(TopPSoftmaxJudge, WhatTheFilterCannotTellIsDecidedByDoubleDoubles) {
  const PrecisionScope precision(113);
  const char* words = "acc=f64 exp=1ulp masked=zero";
  const Contract contract = parse_contract(words, Format::f64, Format::f64);
  const RowCascade cascade(halves);
  const TopPThreshold<UpperBound> granted(contract, statistics_of(cascade.statistics(), contract, halves, 1));
  const RowOracle exact(halves);
  const double mass = (exact.softmax(0) + exact.softmax(1)).midpoint();
  const double allowed = upper(granted.mass(UpperBound(exact.softmax(2).upper_double())));
  ASSERT_LT(0x1p-52, cascade.statistics().sum_minus_one.error / 4);
  const Row two = kept(halves, {0, 1}, 1, Format::f64);
  EXPECT_EQ(broken(halves, two, {mass + allowed + 0x1p-52}, words, Format::f64), Claims{"kept"});
  EXPECT_EQ(broken(halves, two, {mass + 0x1p-53}, words, Format::f64), Claims{});
}

TEST(TopPSoftmaxJudge, ASmallerItemInPlaceOfALargerOneIsFound) {
  const Row row{1, 3, 2, 0};
  EXPECT_EQ(broken(row, kept(row, {1, 0}), {0.65}), Claims{"kept"});
  EXPECT_EQ(broken(row, kept(row, {2}), {0x1p-20}), Claims{"kept"});
}

TEST(TopPSoftmaxJudge, SomeItemIsKeptAlways) {
  EXPECT_EQ(broken(equal, {0, 0, 0, 0}, {0x1p-20}), Claims{"kept"});
  EXPECT_EQ(broken(equal, {0, 0, 0, 0}, {0, 1}), Claims{"kept"});
}

// Mass exactly top_p: 1/4 and 1/4 of four equal logits; their exact sum may be computed as a little less or more.
TEST(TopPSoftmaxJudge, AnItemWhosePrefixHasAMassOfTopPIsFree) {
  for (const char* words : {usual_sampling, lowest}) {
    EXPECT_EQ(broken(equal, kept(equal, {0, 1}), {0.5}, words), Claims{});
    EXPECT_EQ(broken(equal, kept(equal, {0, 1, 2}), {0.5}, words), Claims{});
    EXPECT_EQ(broken(equal, kept(equal, {0}), {0.5}, words), Claims{"kept"});
  }
  EXPECT_EQ(broken(halves, kept(halves, {0}), {0.5}), Claims{});
  EXPECT_EQ(broken(halves, kept(halves, {0, 1}), {0.5}), Claims{});
  EXPECT_EQ(broken(halves, kept(halves, {0, 1}), {0.75}), Claims{});
  EXPECT_EQ(broken(halves, kept(halves, {0, 1}), {0.75 + 0x1p-24}), Claims{});
  EXPECT_EQ(broken(halves, kept(halves, {0, 1}), {0.75 + 0x1p-16}), Claims{"kept"});
  EXPECT_EQ(broken(halves, kept(halves, {0, 1}), {0.5 - 0x1p-16}), Claims{"kept"});
  EXPECT_EQ(broken(halves, kept(halves, {0, 1}), {0.75 + 0x1p-16}, "acc=f32 exp=1ulp weights=bf16"), Claims{});
}

// A kernel that looks for the least coefficient of the prefix keeps all that are equal to it.
TEST(TopPSoftmaxJudge, OfEqualItemsAsManyAsSufficeAreKeptOrMore) {
  EXPECT_EQ(broken(equal, kept(equal, {0, 1, 2}), {0.6}), Claims{});
  EXPECT_EQ(broken(equal, kept(equal, {3, 1, 2}), {0.6}), Claims{});
  EXPECT_EQ(broken(equal, kept(equal, {0, 1, 2, 3}), {0.6}), Claims{});
  EXPECT_EQ(broken(equal, kept(equal, {0, 1}), {0.6}), Claims{"kept"});
  const Row ties{2, 1, 1, 1};
  EXPECT_EQ(broken(ties, kept(ties, {0, 1, 2, 3}), {0.5}), Claims{});
  EXPECT_EQ(broken(ties, kept(ties, {0, 2}), {0.5}), Claims{});
  EXPECT_EQ(broken(ties, kept(ties, {0}), {0.5}), Claims{"kept"});
}

TEST(TopPSoftmaxJudge, UnderTiesLowestTheyAreTheFirstAndNoMore) {
  EXPECT_EQ(broken(equal, kept(equal, {0, 1, 2}), {0.6}, lowest), Claims{});
  EXPECT_EQ(broken(equal, kept(equal, {3, 1, 2}), {0.6}, lowest), Claims{"kept"});
  EXPECT_EQ(broken(equal, kept(equal, {0, 1, 2, 3}), {0.6}, lowest), Claims{"kept"});
}

TEST(TopPSoftmaxJudge, NearlyEqualItemsAreExchangedWithinWhatIsGranted) {
  const Row close{1, 1 - 0x1p-24, 1 - 0x1p-16};
  EXPECT_EQ(broken(close, kept(close, {1}), {0x1p-20}), Claims{});
  EXPECT_EQ(broken(close, kept(close, {2}), {0x1p-20}), Claims{"kept"});
}

TEST(TopPSoftmaxJudge, MinPIsAShareOfTheLargestCoefficient) {
  const Row row{0, -1, -2, -3};  // shares of 1, 0.368, 0.135, 0.050
  EXPECT_EQ(broken(row, kept(row, {0, 1, 2}), {0, 0.1}), Claims{});
  EXPECT_EQ(broken(row, kept(row, {0, 1}), {0, 0.1}), Claims{"kept"});
  EXPECT_EQ(broken(row, kept(row, {0, 1, 2, 3}), {0, 0.1}), Claims{"kept"});
  EXPECT_EQ(broken(row, kept(row, {0}), {0, 1}), Claims{});
  // Within the error of D either answer is right, no further away.
  for (const double off : {-0x1p-25, 0.0, 0x1p-25}) {
    const Row at{0, std::log(0.1) + off};
    EXPECT_EQ(broken(at, kept(at, {0, 1}), {0, 0.1}), Claims{});
    EXPECT_EQ(broken(at, kept(at, {0}), {0, 0.1}), Claims{});
  }
  const Row above{0, std::log(0.1) + 0x1p-16}, below{0, std::log(0.1) - 0x1p-16};
  EXPECT_EQ(broken(above, kept(above, {0}), {0, 0.1}), Claims{"kept"});
  EXPECT_EQ(broken(below, kept(below, {0, 1}), {0, 0.1}), Claims{"kept"});
}

// Both: top_p is a share of all items, not of those that min_p leaves.
TEST(TopPSoftmaxJudge, AnItemHasToPassBothFilters) {
  const Row row{0, -1, -2, -3};  // p of 0.644, 0.237, 0.087, 0.032
  EXPECT_EQ(broken(row, kept(row, {0, 1, 2}), {0.9, 0.1}), Claims{});
  EXPECT_EQ(broken(row, kept(row, {0, 1}), {0.9, 0.2}), Claims{});
  EXPECT_EQ(broken(row, kept(row, {0, 1}), {0.7, 0.1}), Claims{});
  EXPECT_EQ(broken(row, kept(row, {0}), {0.7, 0.1}), Claims{"kept"});
  EXPECT_EQ(broken(row, kept(row, {0, 1, 2}), {0.7, 0.1}), Claims{"kept"});
  // Behind min_p alone the first two would hold 0.90 of the mass.
  EXPECT_EQ(broken(row, kept(row, {0, 1}), {0.895, 0.1}), Claims{"kept"});
}

TEST(TopPSoftmaxJudge, TheKLargestItemsAreKept) {
  const Row row{1, 3, 2, 0};  // p of 0.087, 0.644, 0.237, 0.032
  for (const bool renormalize : {false, true}) {
    const auto of = [&](std::int32_t k, double top_p = 0) { return Filters{top_p, 0, 1, k, renormalize}; };
    EXPECT_EQ(broken(row, kept(row, {1, 2}), of(2)), Claims{});
    EXPECT_EQ(broken(row, kept(row, {1}), of(2)), Claims{"kept"});
    EXPECT_EQ(broken(row, kept(row, {1, 2, 0}), of(2)), Claims{"kept"});
    EXPECT_EQ(broken(row, kept(row, {1, 0}), of(2)), Claims{"kept"});
    for (const std::int32_t all : {4, 5, 1 << 30}) EXPECT_EQ(broken(row, kept(row, {0, 1, 2, 3}), of(all)), Claims{});
    EXPECT_EQ(broken(row, kept(row, {1}), of(2, 0.6)), Claims{});
    EXPECT_EQ(broken(row, kept(row, {1, 2}), of(2, 1)), Claims{});
    EXPECT_EQ(broken(row, kept(row, {1, 2, 0}), of(2, 1)), Claims{"kept"});
  }
  EXPECT_EQ(broken(row, kept(row, {1, 2}), {0, 0.3, 1, 3}), Claims{});
  EXPECT_EQ(broken(row, kept(row, {1, 2, 0}), {0, 0.3, 1, 3}), Claims{"kept"});
}

// The two largest have 0.881 of the mass: 0.72 of it is 0.634, less than the first.
TEST(TopPSoftmaxJudge, TopPIsAShareOfTheKLargestUnderRenormalize) {
  const Row row{1, 3, 2, 0};
  const Filters joint{0.72, 0, 1, 2}, first{0.72, 0, 1, 2, true};
  EXPECT_EQ(broken(row, kept(row, {1, 2}), joint), Claims{});
  EXPECT_EQ(broken(row, kept(row, {1}), joint), Claims{"kept"});
  EXPECT_EQ(broken(row, kept(row, {1}), first), Claims{});
  EXPECT_EQ(broken(row, kept(row, {1, 2}), first), Claims{"kept"});
  // A prefix of halves that is exactly top_p of the two largest, 2/3 of them, may end before or after the next item.
  EXPECT_EQ(broken(halves, kept(halves, {0}), {2.0 / 3, 0, 1, 2, true}), Claims{});
  EXPECT_EQ(broken(halves, kept(halves, {0, 1}), {2.0 / 3, 0, 1, 2, true}), Claims{});
  EXPECT_EQ(broken(halves, kept(halves, {0}), {2.0 / 3 + 0x1p-16, 0, 1, 2, true}), Claims{"kept"});
  EXPECT_EQ(broken(halves, kept(halves, {0, 1}), {2.0 / 3 - 0x1p-16, 0, 1, 2, true}), Claims{"kept"});
}

TEST(TopPSoftmaxJudge, OfEqualItemsAtTheKthPlaceAnyAreKeptOrMore) {
  const Filters two{0, 0, 1, 2}, half{0.5, 0, 1, 2, true};
  for (const auto& items : {std::vector<std::size_t>{0, 1}, {2, 3}, {1, 2, 3}, {0, 1, 2, 3}}) {
    EXPECT_EQ(broken(equal, kept(equal, items), two), Claims{});
    const bool is_first = items.front() == 0 && items.size() == 2;
    EXPECT_EQ(broken(equal, kept(equal, items), two, lowest), is_first ? Claims{} : Claims{"kept"});
  }
  EXPECT_EQ(broken(equal, kept(equal, {3}), two), Claims{"kept"});
  EXPECT_EQ(broken(equal, kept(equal, {0}), two, lowest), Claims{"kept"});
  // Half of the mass of two items, or of all four that a kernel may take for the two largest.
  for (const auto& items : {std::vector<std::size_t>{3}, {0, 1}}) {
    EXPECT_EQ(broken(equal, kept(equal, items), half), Claims{});
  }
  EXPECT_EQ(broken(equal, kept(equal, {0}), half, lowest), Claims{});
  EXPECT_EQ(broken(equal, kept(equal, {0, 1, 2}), half, lowest), Claims{"kept"});
  const Row close{1, 1 - 0x1p-24, 1 - 0x1p-16};
  EXPECT_EQ(broken(close, kept(close, {1}), {0, 0, 1, 1}), Claims{});
  EXPECT_EQ(broken(close, kept(close, {2}), {0, 0, 1, 1}), Claims{"kept"});
  EXPECT_EQ(broken(close, kept(close, {0, 1}), {0, 0, 1, 1}, lowest), Claims{"kept"});
}

// Two divisions before the last one: their roundings are granted under renormalize alone.
TEST(TopPSoftmaxJudge, CoefficientsMayBeDividedByTheKLargestBefore) {
  const char* stored = "acc=f32 exp=1ulp masked=zero weights=bf16";
  const Contract contract = parse_contract(stored, Format::f32, Format::bf16);
  const RowCascade cascade(halves);
  const Statistics statistics = statistics_of(cascade.statistics(), contract, halves, 1);
  const TopPThreshold<UpperBound> once(contract, statistics), twice(contract, statistics, Grants::all, true);
  const UpperBound last(0.25);
  EXPECT_GT(upper(twice.mass(last)), 1.9 * upper(once.mass(last)));
  EXPECT_LT(upper(twice.mass(last, UpperBound(0.5))), upper(twice.mass(last)));
  EXPECT_GT(upper(twice.choice().exchange(UpperBound(0), UpperBound(1))),
            upper(once.choice().exchange(UpperBound(0), UpperBound(1))));
}

TEST(TopPSoftmaxJudge, TheTemperatureComesFirst) {
  const Row row{1, 3, 2, 0};
  EXPECT_EQ(broken(row, kept(row, {1}, 0.25), {0.9, 0, 0.25}), Claims{});
  EXPECT_EQ(broken(row, kept(row, {1, 2, 0}, 0.25), {0.9, 0, 0.25}), Claims{"kept"});
  // p of 0.27, 0.35, 0.21, 0.17.
  EXPECT_EQ(broken(row, kept(row, {1, 2}, 4), {0.6, 0, 4}), Claims{});
}

TEST(TopPSoftmaxJudge, WeightsAreThoseOfTheKeptItemsAlone) {
  const Row row{1, 3, 2, 0};
  Row plain = kept(row, {0, 1, 2, 3});
  plain[0] = plain[3] = 0;
  EXPECT_EQ(broken(row, plain, {0.65}), Claims{"element"});
  Row off = kept(row, {1, 2});
  off[1] += 0x1p-16;
  EXPECT_EQ(broken(row, off, {0.65}), Claims{"element"});
  const Row sharp{0, -200};
  EXPECT_EQ(broken(sharp, {1, -0.0}, {0.5}), Claims{"element"});
  EXPECT_EQ(broken(sharp, {nan, 0}, {0.5}), Claims{"element"});
  EXPECT_EQ(broken({0, -infinity}, {1, 1e-30}, {0.5}), Claims{"element"});
  EXPECT_EQ(broken({0, -infinity}, {1, 0}, {1}), Claims{});
}

// Kept, but below all numbers of the output: whether it was kept cannot be told, and need not.
TEST(TopPSoftmaxJudge, AWeightThatUnderflowsMayHaveBeenKept) {
  const Row row{0, -200};
  EXPECT_EQ(broken(row, {1, 0}, {}), Claims{});
  EXPECT_EQ(broken(row, {1, 0}, {1}), Claims{});
  Row many(1000, -18);
  many[0] = 0;  // weights of 1.5e-8 in f16
  Row all = kept(many, {0}, 1, Format::f16);
  EXPECT_EQ(broken(many, all, {1}, usual_sampling, Format::f16), Claims{});
  EXPECT_EQ(broken(many, all, {0.5}, usual_sampling, Format::f16), Claims{});
  EXPECT_EQ(broken(many, all, {1}, "acc=f32 exp=1ulp sum=tree"), Claims{"kept"});  // f32 holds them
}

// Each of a thousand weights of 2^-11 is below all numbers of e4m3, their sum is a half: the largest is no 1.
TEST(TopPSoftmaxJudge, WeightsThatUnderflowMayHaveASumThatShows) {
  Row many(1000, -10 * std::log(2.0));
  many[0] = 0;
  std::vector<std::size_t> items(many.size());
  std::iota(items.begin(), items.end(), 0);
  const Row all = kept(many, items, 1, Format::e4m3);
  EXPECT_EQ(all[0], 0.5);
  EXPECT_EQ(all[1], 0);
  for (const double top_p : {0.0, 1.0}) {
    EXPECT_EQ(broken(many, all, {top_p}, usual_sampling, Format::e4m3), Claims{}) << top_p;
  }
}

// A kernel may take items whose weights are lost for equal ones, but none of them for as large as an item whose weight
// is not: what is kept beside that item needs its mass.
TEST(TopPSoftmaxJudge, AnItemThatMayBeLostStandsBehindThoseThatMayNot) {
  const Row row{0, -90, -91};  // e^-90 is below the smallest normal number of f32
  const Row got{1, round_to(Format::f32, std::exp(-90)), 0}, other{1, 0, round_to(Format::f32, std::exp(-91))};
  EXPECT_EQ(broken(row, got, {.top_p = 1}), Claims{});
  EXPECT_EQ(broken(row, other, {.top_p = 1}), Claims{});
  EXPECT_EQ(broken(row, got, {.top_p = 0.5}), Claims{"kept"});
  EXPECT_EQ(broken(row, other, {.top_p = 0.5}), Claims{"kept"});
}

TEST(TopPSoftmaxJudge, ARowWithNothingVisibleIsAsTheContractSays) {
  const Row nothing(3, -infinity);
  EXPECT_EQ(broken(nothing, {0, 0, 0}, {0.5}), Claims{});
  EXPECT_EQ(broken(nothing, {nan, nan, nan}, {0.5}), Claims{"masked_row"});
  EXPECT_EQ(broken(nothing, {nan, nan, nan}, {0.5}, "masked=nan"), Claims{});
}

TEST(TopPSoftmaxJudge, NothingIsPromisedForAMaskedItemWhereXOverTheTemperatureOverflows) {
  const Row row{0x1.8p126, -infinity}, nans{nan, nan};
  const Filters quarter{.theta = 0.25};
  EXPECT_EQ(broken(row, nans, quarter, "acc=f32 exp=1ulp theta=before"), Claims{});
  EXPECT_NE(broken(row, nans, quarter), Claims{});
  EXPECT_EQ(broken({1, -infinity}, {1, nan}, quarter, "acc=f32 exp=1ulp theta=before"), Claims{"element"});
}

TEST(TopPSoftmaxJudge, ACallHasItsAttributes) {
  const RowMatrixCase matrix = matrix_of_rows(Format::bf16, {{1, 2, 3}}, 8 + 1);
  const TensorCall call =
      call_of(matrix, Op::top_p_softmax, {Format::bf16, output_format(Op::top_p_softmax, Format::bf16)});
  EXPECT_EQ(call.op, static_cast<std::uint32_t>(SOFTCHECK_OP_TOP_P_SOFTMAX));
  EXPECT_EQ(call.attributes.top_p, 0.9);
  EXPECT_EQ(call.attributes.min_p, 0.1);
  EXPECT_EQ(call.outputs[0].place.format, Format::bf16);
  EXPECT_EQ(call.outputs[0].place.shape, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(remark_of(Op::top_p_softmax, matrix),
            " (logits 0x1p+0 0x1p+1 0x1.8p+1, top_p 0x1.ccccccccccccdp-1, min_p 0x1.999999999999ap-4)");
}

TEST(TopPSoftmaxJudge, ARowHasItsOwnNumbersInPlaceOfTheCalls) {
  const Row row{1, 3, 2, 0};
  const auto found = [&](const Row& got, std::vector<std::vector<double>> own) {
    return broken_claims(
        verdicts_of(Op::top_p_softmax, row, got, {.contract = usual_sampling, .auxiliary = std::move(own)}));
  };
  EXPECT_EQ(found(kept(row, {1, 2}), {{2}, {}, {}, {}}), Claims{});
  EXPECT_EQ(found(kept(row, {1, 2}), {{1}, {}, {}, {}}), Claims{"kept"});
  EXPECT_EQ(found(kept(row, {1, 2}), {{}, {0.7}, {}, {}}), Claims{});
  EXPECT_EQ(found(kept(row, {1, 2}), {{}, {0.6}, {}, {}}), Claims{"kept"});
  EXPECT_EQ(found(kept(row, {1, 2}), {{}, {}, {0.3}, {}}), Claims{});
  EXPECT_EQ(found(kept(row, {1, 2}), {{}, {}, {0.1}, {}}), Claims{"kept"});
  EXPECT_EQ(found(kept(row, {0, 1, 2, 3}, 0.5), {{}, {}, {}, {0.5}}), Claims{});
  EXPECT_EQ(found(kept(row, {0, 1, 2, 3}, 0.5), {{}, {}, {}, {0.25}}), Claims{"element"});
}

TEST(TopPSoftmaxJudge, TheExactItemsAreEnclosed) {
  const Contract contract = parse_contract(usual_sampling, Format::f32, Format::f32);
  const auto exact = [&](const Row& logits, const Filters& filters) {
    const auto [lower, upper, allowed] =
        RowBounds(Op::top_p_softmax, contract, logits, filters.theta, {}, attributes_of(filters));
    for (std::size_t i = 0; i < logits.size(); ++i) {
      EXPECT_LE(lower[i], upper[i]);
      EXPECT_EQ(allowed[i] > 0, upper[i] > 0);
      EXPECT_LT(allowed[i], 1e-5);
    }
    return lower;
  };
  EXPECT_EQ(exact(equal, {0.5}), (Row{0.5, 0.5, 0, 0}));
  EXPECT_EQ(exact(equal, {0.5 + 0x1p-50})[2] > 0.3, true);
  EXPECT_EQ(exact(equal, {0x1p-20, 1}), (Row{1, 0, 0, 0}));
  EXPECT_EQ(exact(equal, {0, 1}), (Row{0.25, 0.25, 0.25, 0.25}));
  EXPECT_EQ(exact({0, -1, -infinity}, {0, 0.5}), (Row{1, 0, 0}));
  EXPECT_EQ(exact({0, 0, -1e4}, {1})[2], 0);
  EXPECT_EQ(exact(equal, {0, 0, 1, 2}), (Row{0.5, 0.5, 0, 0}));
  EXPECT_EQ(exact(equal, {0.5, 0, 1, 2, true}), (Row{1, 0, 0, 0}));
  EXPECT_EQ(exact(equal, {0.5, 0, 1, 3}), (Row{0.5, 0.5, 0, 0}));
}

// The contract that is found is one that the kernel keeps to at other top_p and min_p, too.
// Labelled full: TopPSoftmaxJudge.AContractIsInferred
TEST(TopPSoftmaxJudge, AContractIsInferred) {
  const Inference inference =
      infer_contract(zoo_subject("correct_top_p_softmax", {.op = Op::top_p_softmax}), quick_options({}, 40));
  ASSERT_TRUE(inference.contract) << inference.failure;
  EXPECT_EQ(inference.contract->accumulator, Format::f32);
  EXPECT_EQ(inference.contract->masked, MaskedRows::nan);
  EXPECT_EQ(inference.contract->exp_error, 2);
}

}  // namespace
}  // namespace softcheck::proptests
