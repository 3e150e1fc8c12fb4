// What numbers of top-k, top-p and min-p, and what rows, are drawn.
#include <array>
#include <cmath>
#include <set>
#include <stdexcept>
#include <utility>

#include "judge/ops/top_p_softmax/filters.hpp"
#include "proptests/tests/judge/row_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

TEST(TopPSoftmaxJudge, EveryPairOfFiltersIsDrawnAndADomainLeavesItsOwn) {
  const RowOp& op = Op::top_p_softmax.rows();
  const auto drawn = [&](const char* words) {
    const Domain domain = parse_domain(words, false);
    std::set<std::pair<double, double>> pairs;
    for (std::uint64_t auxiliary = 0; auxiliary < 64; ++auxiliary) {
      const Attributes a = op.attributes(auxiliary & ~op.closed_auxiliaries(domain), 10);
      pairs.emplace(a.top_p, a.min_p);
    }
    return pairs;
  };
  EXPECT_EQ(drawn("").size(), 64u);
  EXPECT_EQ(drawn("min_p=0").size(), 8u);
  EXPECT_EQ(drawn("min_p=0 top_p=0"), (std::set<std::pair<double, double>>{{0, 0}}));
  EXPECT_TRUE(drawn("").contains({1, 1}));
  CallTraits call;
  call.top_p = 0.5;
  EXPECT_EQ(parse_domain("top_p=0 min_p=0", false).broken_by(call), "top_p=0");
  EXPECT_EQ(to_string(parse_domain("min_p=0 top_p=0", false)), "top_p=0 min_p=0");
  EXPECT_THROW(parse_domain("top_p=0.5", false), std::invalid_argument);
}

// k and its order follow from the bits of the call, and numbers of rows from the rows' own.
TEST(TopPSoftmaxJudge, KAndNumbersOfRowsAreDrawnIfTheDomainHasThem) {
  const RowOp& op = Op::top_p_softmax.rows();
  EXPECT_EQ(op.set_auxiliaries(parse_domain("theta=1 renormalize=1", false)), 0u);
  const auto orders = [&](const char* words) {
    const std::uint64_t set = op.set_auxiliaries(parse_domain(words, false));
    std::set<std::pair<int, bool>> drawn;
    for (std::uint64_t auxiliary = 0; auxiliary < 64; ++auxiliary) {
      const Attributes a = op.attributes(auxiliary | set, 100);
      drawn.emplace(a.k, a.renormalize);
    }
    return drawn;
  };
  EXPECT_EQ(orders("").size(), 1u);
  EXPECT_EQ(orders("top_k").size(), 14u);  // 50 is a half of 100
  EXPECT_EQ(orders("top_k renormalize=0").size(), 7u);
  const std::uint64_t set = op.set_auxiliaries(parse_domain("top_k per_row", false));
  std::array<std::set<double>, 5> numbers;
  for (std::uint64_t row = 0; row < 200; ++row) {
    const auto inputs = op.input_values(Format::f32, Row(100, 0), auxiliary_of_row(set | 9, row));
    for (std::size_t k = 1; k < 5; ++k) numbers[k].insert(inputs[k].at(0));
  }
  EXPECT_EQ(numbers[1].size(), 7u);
  EXPECT_EQ(numbers[2].size(), 7u);
  EXPECT_FALSE(numbers[2].contains(0));
  EXPECT_EQ(numbers[3].size(), 8u);
  EXPECT_EQ(numbers[4].size(), 8u);
  EXPECT_EQ(op.attributes(set | 9, 100).top_p, 0);
  EXPECT_EQ(op.attributes(set | 9, 100).k, 0);
  EXPECT_FALSE(op.has_input(2, set | 1));  // top_p is off
  EXPECT_FALSE(op.has_input(4, op.set_auxiliaries(parse_domain("per_row theta=1", false))));
  // x / theta of large logits keeps no digits, so that few such rows have a temperature.
  std::size_t others = 0;
  for (std::uint64_t row = 0; row < 200; ++row) {
    others += op.input_values(Format::f32, Row(100, 0x1p20), auxiliary_of_row(set | 9, row))[4].at(0) != 1 ? 1 : 0;
  }
  EXPECT_GT(others, 0u);
  EXPECT_LT(others, 200u / 8);
}

// Equal logits, halves of one another, and neighbours of the level stand in some rows of any kind.
TEST(TopPSoftmaxJudge, RowsAtTheBoundaryAreDrawn) {
  const Row row{0.25, -infinity, 1, -3};
  const auto values = [&](std::uint64_t form) { return filtered_logits(Format::f32, row, form * 64 + 1); };
  EXPECT_EQ(values(0), row);
  EXPECT_EQ(values(5), (Row{1, -infinity, 1, 1}));
  const Row level = values(6), half = values(7);
  EXPECT_EQ(level[0], 1);
  EXPECT_EQ(level[1], -infinity);
  EXPECT_NEAR(level[2], 1 + std::log(0.1), 0x1p-20);
  EXPECT_NE(level[2], level[3]);
  EXPECT_EQ(half[2], round_to(Format::f32, 1 - std::log(2.0)));
  EXPECT_EQ(half[3], round_to(Format::f32, 1 - 2 * std::log(2.0)));
}

}  // namespace
}  // namespace softcheck::proptests
