// Clusters on the emulator.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <vector>

#include "kernels/emulator/block.hpp"

namespace softcheck::emulator_tests {
namespace {

namespace emulator = kernels::emulator;
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

}  // namespace
}  // namespace softcheck::emulator_tests
