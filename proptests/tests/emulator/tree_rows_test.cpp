// The tree kernels: the same bits however a row is laid on threads, those of the strict kernels, and of the order that
// kernels/block/tree_order.hpp states, added here item by item.
#include "kernels/block/tree_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/block/abi/tree_layouts.hpp"
#include "proptests/tests/emulator/tree_problem.hpp"

namespace softcheck::emulator_tests {
namespace {

/// The bits of an index over which the order adds, the first one first: v, stripe, lane, tile.
std::vector<int> levels_of(int items_of_vector, int tiles) {
  std::vector<int> levels;
  const int v = std::countr_zero(static_cast<unsigned>(items_of_vector));
  for (int bit = 0; bit < v; ++bit) levels.push_back(bit);
  for (int bit : {v + 5, v + 6}) levels.push_back(bit);
  for (int bit = v; bit < v + 5; ++bit) levels.push_back(bit);
  for (int bit = v + 7; 1 << (bit - v - 7) < tiles; ++bit) levels.push_back(bit);
  return levels;
}

/// The sum of all items by those levels: each adds the items whose indices differ in its bit.
float added_by(const std::vector<int>& levels, std::vector<float> x) {
  x.resize(std::size_t{1} << levels.size(), 0.0F);
  for (const int bit : levels) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      if ((i >> bit & 1) == 0) x[i] += x[i | std::size_t{1} << bit];
    }
  }
  return x[0];
}

template <class Element>
class TreeRows : public testing::Test {
 protected:
  static constexpr int most = 32 / vector_items<Element>;
  static constexpr int of_warp = 32 * warp_size;

  /// Expects the strict kernel's bits of each layout that takes the columns.
  template <class Op>
  static void expect_strict_bits(const TreeProblem<Element>& problem, const std::string& op) {
    const std::vector<Element> strict = problem.strict(op, Op::of_rows);
    const auto expect = [&]<class Rows>(Rows, int warps, const char* layout) {
      EXPECT_TRUE(same(problem.template results<Op, Rows>({warps}), strict))
          << op << ", " << problem.columns << " columns, masked " << problem.masked << ": " << layout << ", " << warps;
    };
    if (problem.columns <= vector_items<Element> * warp_size) expect(WarpRows<1>(), 1, "a warp, 1 vector");
    if (problem.columns <= of_warp / 2) expect(WarpRows<most / 2>(), 3, "a warp, half as many vectors");
    if (problem.columns <= of_warp) expect(WarpRows<most>(), 2, "a warp");
    for (const int warps : {1, 2, 4, 8, 16}) {
      if (problem.columns <= warps * of_warp) expect(BlockRows<most, true>(), warps, "a block");
      if (warps <= 4) expect(BlockRows<most, false>(), warps, "part by part");
    }
    if (problem.columns <= 3 * of_warp) expect(BlockRows<most, true>(), 4, "a block");
    expect(BlockRows<2 * most, false>(), 2, "part by part, twice as many vectors");
  }
};
using TreeElements = testing::Types<float, Half, BFloat>;
TYPED_TEST_SUITE(TreeRows, TreeElements);

// Labelled full: TreeRows*.HaveTheStrictBitsInEveryLayout
TYPED_TEST(TreeRows, HaveTheStrictBitsInEveryLayout) {
  for (const std::int64_t n : {1, 7, 8, 100, 128, 512, 1000, 1024, 1025, 2056, 5000, 16384}) {
    for (const bool masked : {false, true}) {
      const TreeProblem<TypeParam> problem(n > 2000 ? 1 : 3, n, masked, static_cast<unsigned>(n));
      this->template expect_strict_bits<tree::SoftmaxKernel>(problem, "softmax");
      if (n > 5000) continue;
      this->template expect_strict_bits<tree::LogSoftmaxKernel>(problem, "log_softmax");
      this->template expect_strict_bits<tree::LogsumexpKernel>(problem, "logsumexp");
      this->template expect_strict_bits<tree::EntropyKernel>(problem, "entropy");
      this->template expect_strict_bits<tree::AdaptiveSoftmaxKernel>(problem, "adaptive_softmax");
    }
  }
}

TYPED_TEST(TreeRows, AreCleanAndTheSameUnderEverySchedule) {
  constexpr int most = 32 / vector_items<TypeParam>;
  for (const std::int64_t n : {5, 900, 2500}) {
    const TreeProblem<TypeParam> problem(3, n, n == 5, 1);
    problem.template results<tree::AdaptiveSoftmaxKernel, BlockRows<most, true>>({4, 1, true});
    problem.template results<tree::EntropyKernel, BlockRows<most, false>>({2, 1, true});
    if (n < 1000) problem.template results<tree::SoftmaxKernel, WarpRows<most>>({2, 1, true});
  }
}

// Of the maximum, a weight of exactly 1, softmax is 1 / S: its bits are those of S as added here.
TYPED_TEST(TreeRows, AddInTheOrderThatIsStated) {
  constexpr int items = vector_items<TypeParam>;
  constexpr float unscale = arithmetic::ExpConstants<float>::unscale;
  int other_levels = 0, lost_tile = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const std::int64_t n = 4 * tile_items<TypeParam> - 37 - static_cast<int>(seed);
    const TreeProblem<TypeParam> problem(1, n, false, seed);
    std::vector<float> weights;
    float m = minus_infinity<float>();
    for (const TypeParam x : problem.logits) m = std::max(m, widened(x));
    for (const TypeParam x : problem.logits) weights.push_back(tree_weight(with_weight(widened(x) - m)) * unscale);
    std::vector<int> levels = levels_of(items, 4);
    const float sum = added_by(levels, weights);
    // In f32, where each bit of S shows: of 16 bits the entropy does, in f32.
    std::vector<TypeParam> none;
    std::vector<float> wide(1);
    TreeArguments<Block, TypeParam> all = problem.template arguments<tree::LogsumexpKernel>(none);
    all.results = {};
    all.wide = {std::span<float>(wide), 1, 1};
    all.logits.values = {std::span<const TypeParam>(problem.logits), n, 1};
    emulator::launch({1, 64, BlockRows<32 / items, false>::shared_bytes}, [&](Block& block) {
      BlockRows<32 / items, false>::template run<tree::LogsumexpKernel>(block, all);
    });
    const auto result = [&](float s) { return static_cast<float>(TreeStatistics{m, s / unscale, 0}.logsumexp(1, 1)); };
    EXPECT_EQ(wide[0], result(sum)) << n;
    std::swap(levels.front(), levels[levels.size() - 3]);
    if (added_by(levels, weights) != sum) ++other_levels;
    weights.resize(static_cast<std::size_t>(3 * tile_items<TypeParam>));
    if (result(added_by(levels_of(items, 4), weights)) != wide[0]) ++lost_tile;
  }
  EXPECT_GT(other_levels, 0);
  EXPECT_EQ(lost_tile, 12);
}

// Clusters and blocks that share a row: each adds an aligned power of two of tiles, and their sums are added in pairs.
TEST(TreeOrder, IsThatOfAnyPartsOfARow) {
  struct Places {
    float sums[64] = {};
    float load(int level) const { return sums[level]; }
    void store(int level, float x) { sums[level] = x; }
  };
  std::mt19937 random(1);
  std::lognormal_distribution<float> of_tile(0, 2);
  for (const int tiles : {1, 2, 3, 5, 64, 100, 1023}) {
    std::vector<float> sums(static_cast<std::size_t>(tiles));
    for (float& sum : sums) sum = of_tile(random);
    PairedSums<Places> whole;
    for (const float sum : sums) whole.add(sum);
    for (int part = 2; part <= 64; part *= 2) {
      PairedSums<Places> parts;
      for (int begin = 0; begin < tiles; begin += part) {
        PairedSums<Places> own;
        for (int i = begin; i < std::min(tiles, begin + part); ++i) own.add(sums[static_cast<std::size_t>(i)]);
        parts.add(own.total());
      }
      EXPECT_EQ(parts.total(), whole.total()) << tiles << " tiles, " << part << " a part";
    }
  }
}

// An H100 and an H200 differ in their memory alone.
TEST(TunedLayouts, AreThoseOfTheNearestDeviceForTheRows) {
  constexpr TunedDevice h100{90, 132, 2619000}, h200{90, 132, 3201000}, h20{90, 78, 2619000}, a100{80, 108, 1215000};
  constexpr TunedLayout table[] = {{h100, "softmax", "f32", 513, 1024, {true, 2}},
                                   {h200, "softmax", "f32", 513, 1024, {true, 4}},
                                   {h200, "softmax", "f32", 1025, 4096, {false, 8}},
                                   {h20, "softmax", "f32", 513, 1024, {true, 1}},
                                   {a100, "entropy", "bf16", 1, 99, {true, 1}}};
  const auto warps = [&](TunedDevice device, const char* op, const char* dtype, std::int64_t columns) {
    const TunedLayout* line = tuned_layout(table, device, op, dtype, columns);
    return line == nullptr ? 0 : line->layout.warps;
  };
  EXPECT_EQ(warps(h100, "softmax", "f32", 1024), 2);
  EXPECT_EQ(warps(h200, "softmax", "f32", 513), 4);
  EXPECT_EQ(warps(h200, "softmax", "f32", 1025), 8);
  EXPECT_EQ(warps(h100, "softmax", "f32", 1025), 0);  // no line of another device in its place
  EXPECT_EQ(warps(h200, "softmax", "f32", 512), 0);
  EXPECT_EQ(warps(h200, "softmax", "bf16", 1024), 0);
  EXPECT_EQ(warps(h200, "entropy", "f32", 1024), 0);
  EXPECT_EQ(warps({90, 114, 1593000}, "softmax", "f32", 1024), 2);  // its memory is nearer to the H100's
  EXPECT_EQ(warps({90, 80, 3201000}, "softmax", "f32", 1024), 1);   // the multiprocessors decide before the clock
  EXPECT_EQ(warps({86, 120, 9751000}, "softmax", "f32", 1024), 4);  // the capability before both
  EXPECT_EQ(warps({84, 130, 3201000}, "entropy", "bf16", 99), 1);
  EXPECT_EQ(tuned_layout({}, h100, "softmax", "f32", 1024), nullptr);
}

// A layout that cannot hold the row is left, one that the environment names refused.
TEST(TunedLayouts, ApplyWhereTheyHoldTheRow) {
  const auto chosen = [](const TunedLayout* tuned, std::int64_t columns) {
    int taken = 0;
    const int refused = with_chosen_layout<float>(
        BlockRows<8, true>(), 16, columns, tuned, [&]<class Rows>(Rows, int warps, int blocks = 1) {
          if (blocks == 8) return 1;  // a device that cannot
          taken = 1000 * (blocks - 1) + (std::is_same_v<Rows, BlockRows<8, true>> ? 100 : 200) + warps;
          return 0;
        });
    return refused == 0 ? taken : -1;
  };
  const TunedLayout held{{}, "", "", 1, 1 << 20, {true, 4}}, parts{{}, "", "", 1, 1 << 20, {false, 2}},
      clusters{{}, "", "", 1, 1 << 20, {true, 16, 4}}, absent{{}, "", "", 1, 1 << 20, {true, 16, 8}},
      grid{{}, "", "", 1, 1 << 20, {false, 16, 4}};
  EXPECT_EQ(chosen(nullptr, 4096), 116);
  EXPECT_EQ(chosen(&held, 4096), 104);
  EXPECT_EQ(chosen(&held, 4097), 116);
  EXPECT_EQ(chosen(&parts, 4097), 202);
  EXPECT_EQ(chosen(&clusters, 4097), 3216);
  EXPECT_EQ(chosen(&absent, 4097), 116);
  EXPECT_EQ(chosen(&grid, 4097), 116);  // a block holds the row
}

// Its own division and a sum that is a float: the bits of the logarithm that has a theorem.
TEST(TreeStatistics, LogarithmsAreThoseOfTheOtherKernels) {
  constexpr float scale = 1 / arithmetic::ExpConstants<float>::unscale;
  std::mt19937 random(1);
  for (int i = 0; i < 2'000'000; ++i) {
    const auto bits = 0x3f800000U + static_cast<std::uint32_t>(random() % (i % 4 == 0 ? 0x0d000000U : 0x00800000U));
    const auto s = std::bit_cast<float>(bits);
    ASSERT_EQ((TreeStatistics{0, s * scale, 0}.logarithm()), logarithm_of_one_plus(static_cast<double>(s) - 1)) << s;
  }
}

}  // namespace
}  // namespace softcheck::emulator_tests
