// Clusters on the emulator, and softmax whose rows are held by one: the strict kernel's bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/block/tree_rows.hpp"
#include "kernels/emulator/block.hpp"
#include "proptests/tests/emulator/strict_formats.hpp"

namespace softcheck::emulator_tests {
namespace {

using namespace kernels;
using emulator::Block;
using emulator::FindingKind;

/// Each block of a cluster of 4 passes its index to its neighbour and writes what it got.
struct Ring {
  static constexpr emulator::LaunchShape shape{8, 64, sizeof(float), 4};
  bool begins = true, waits = true, ends = true;

  emulator::Kernel kernel(std::vector<float>& results) const {
    return [*this, &results](Block& block) {
      const auto own = block.shared<float>(1);
      if (block.rank() == 0) own.store(0, -2);
      if (begins) block.sync_cluster();
      if (block.rank() == 0) {
        block.of_block(own, (block.cluster_rank() + 1) % 4).store(0, static_cast<float>(block.index()));
      }
      if (waits) {
        block.sync_cluster();
      } else {
        block.sync();
      }
      const float got = own.load(0);
      if (block.rank() == 0) Block::Global<float>(std::span(results)).store(block.index(), got);
      if (!ends && block.rank() == 0 && block.cluster_rank() != 3) block.of_block(own, 3).load(0);
    };
  }
  /// Whether every schedule shows such a defect.
  bool always_shows(FindingKind kind) const {
    return std::ranges::all_of(emulator::schedules, [&](emulator::Schedule schedule) {
      std::vector<float> results(8);
      const emulator::LaunchReport report = emulator::launch(shape, kernel(results), {schedule, 1});
      return std::ranges::any_of(report.findings, [&](const emulator::Finding& one) { return one.kind == kind; });
    });
  }
};

TEST(Cluster, PassesNumbersBetweenItsBlocks) {
  std::vector<float> results(8, -1);
  const std::span<std::byte> written = std::as_writable_bytes(std::span(results));
  const emulator::LaunchReport report =
      emulator::launch_under_all_schedules(Ring::shape, {&written, 1}, Ring().kernel(results));
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(results, (std::vector<float>{3, 0, 1, 2, 7, 4, 5, 6}));
}

TEST(Cluster, MustBeginBeforeItsSharedMemoryIsReached) {
  EXPECT_TRUE((Ring{.begins = false}.always_shows(FindingKind::absent_block)));
}

TEST(Cluster, OrdersOnlyByItsOwnBarrier) { EXPECT_TRUE((Ring{.waits = false}.always_shows(FindingKind::shared_race))); }

// The last reader is the writer itself, behind a barrier of its own block.
TEST(Cluster, RemembersTheReadersOfOtherBlocks) {
  const emulator::LaunchReport report = emulator::launch({2, 32, sizeof(float), 2}, [](Block& block) {
    const auto own = block.shared<float>(1);
    if (block.rank() == 0) own.store(0, 1);
    block.sync_cluster();
    if (block.cluster_rank() == 1) block.sync();
    if (block.rank() == 0) {
      const auto of_first = block.of_block(own, 0);
      const float x = of_first.load(0);
      if (block.cluster_rank() == 1) of_first.store(0, x);
    }
    block.sync_cluster();
  });
  ASSERT_FALSE(report.clean());
  EXPECT_EQ(report.findings[0].kind, FindingKind::shared_race) << report.text();
}

TEST(Cluster, MustNotEndWhileItsSharedMemoryIsReached) {
  EXPECT_TRUE((Ring{.ends = false}.always_shows(FindingKind::absent_block)));
}

TEST(Cluster, WhoseBlocksWaitAtDifferentBarriersIsStuck) {
  const emulator::LaunchReport report = emulator::launch(
      {2, 32, 0, 2}, [](Block& block) { block.cluster_rank() == 0 ? block.sync_cluster() : block.sync(); });
  ASSERT_FALSE(report.clean());
  EXPECT_EQ(report.findings[0].kind, FindingKind::divergent_barrier) << report.text();
}

TEST(Cluster, OfAnotherShapeIsRefused) {
  for (const emulator::LaunchShape& shape :
       {emulator::LaunchShape{4, 32, 0, 3}, {4, 48, 0, 2}, {4, 32, 0, 0}, {34, 32, 0, 17}}) {
    EXPECT_THROW(emulator::launch(shape, [](Block&) {}), std::invalid_argument);
  }
}

template <class Element>
struct ClusterProblem {
  using Bits = typename Format<Element>::Bits;
  ClusterProblem(std::int64_t r, std::int64_t n) : rows(r), columns(n) {
    for (std::int64_t i = 0; i < r * n; ++i) {
      logits.push_back(rounded_to<Element>(3 * std::sin(static_cast<double>(i * i % 1009))));
    }
  }

  template <class Rows>
  std::vector<Bits> results(int cluster, int warps, bool all_schedules = false) const {
    std::vector<Bits> found(logits.size());
    TreeArguments<Block, Element> all;
    all.logits = {{std::span(reinterpret_cast<const Element*>(logits.data()), logits.size()), columns, 1},
                  {},
                  false,
                  rows,
                  columns};
    all.results = {std::span(reinterpret_cast<Element*>(found.data()), found.size()), columns, 1};
    const emulator::LaunchShape shape{2 * cluster, warps * warp_size, Rows::shared_bytes, cluster};
    const auto kernel = [&](Block& block) { Rows::template run<tree::SoftmaxKernel>(block, all); };
    const std::span<std::byte> written = std::as_writable_bytes(std::span(found));
    const emulator::LaunchReport report = all_schedules
                                              ? emulator::launch_under_all_schedules(shape, {&written, 1}, kernel)
                                              : emulator::launch(shape, kernel);
    EXPECT_TRUE(report.clean()) << report.text();
    return found;
  }
  std::vector<Bits> called(const std::string& library) const {
    kernel_tests::Tensor<Bits> in(Format<Element>::type, {rows, columns}), out(Format<Element>::type, {rows, columns});
    std::ranges::copy(logits, in.elements.begin());
    EXPECT_TRUE(kernel_tests::takes_call(
        kernel_tests::load_kernel("softcheck_" + library + "_kernels", "softcheck_" + library + "_tree_softmax"),
        {&in.view}, {&out.view}));
    out.elements.resize(logits.size());
    return out.elements;
  }

  std::int64_t rows, columns;
  std::vector<Bits> logits;
};

template <class Element>
class ClusterRowsOf : public testing::Test {
 protected:
  static constexpr int most = 32 / vector_items<Element>;
};
using ClusterElements = testing::Types<float, Half, BFloat>;
TYPED_TEST_SUITE(ClusterRowsOf, ClusterElements);

// Labelled full: ClusterRowsOf*.HaveTheStrictBits
TYPED_TEST(ClusterRowsOf, HaveTheStrictBits) {
  constexpr int most = TestFixture::most;
  for (const std::int64_t n : {5, 1000, 2056, 5000, 20000}) {
    const ClusterProblem<TypeParam> problem(3, n);
    const auto strict = problem.called("strict");
    for (const int cluster : {2, 4, 8, 16}) {
      for (const int warps : {1, 4}) {
        if (n > 5000 && cluster > 4) continue;
        if (n <= cluster * warps * 1024) {
          EXPECT_TRUE(
              kernel_tests::same_bits(problem.template results<ClusterRows<most, true>>(cluster, warps), strict))
              << n << " columns, " << cluster << " blocks of " << warps;
        }
        EXPECT_TRUE(kernel_tests::same_bits(problem.template results<ClusterRows<most, false>>(cluster, warps), strict))
            << n << " columns in parts, " << cluster << " blocks of " << warps;
      }
    }
  }
}

TYPED_TEST(ClusterRowsOf, AreCleanUnderEverySchedule) {
  constexpr int most = TestFixture::most;
  const ClusterProblem<TypeParam> problem(4, 2500);
  const auto strict = problem.called("strict");
  EXPECT_TRUE(kernel_tests::same_bits(problem.template results<ClusterRows<most, true>>(2, 2, true), strict));
  EXPECT_TRUE(kernel_tests::same_bits(problem.template results<ClusterRows<most, false>>(2, 1, true), strict));
}

// Labelled full: ClusterRowsOf*.AreALayoutOfTheKernel
TYPED_TEST(ClusterRowsOf, AreALayoutOfTheKernel) {
  const ClusterProblem<TypeParam> problem(1, 40000);
  setenv("SOFTCHECK_TREE_LAYOUT", "cluster:2", 1);
  const auto found = problem.called("emulated");
  unsetenv("SOFTCHECK_TREE_LAYOUT");
  EXPECT_TRUE(kernel_tests::same_bits(found, problem.called("strict")));
}

}  // namespace
}  // namespace softcheck::emulator_tests
