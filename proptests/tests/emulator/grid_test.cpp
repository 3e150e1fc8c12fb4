// Blocks of a cooperative launch on the emulator, which meet by signals in global memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "kernels/emulator/block.hpp"

namespace softcheck::emulator_tests {
namespace {

namespace emulator = kernels::emulator;
using emulator::Block;
using emulator::FindingKind;

/// Each of 4 blocks leaves its index for its neighbour, signals, waits for some signals and writes what it got.
struct Relay {
  std::uint32_t needed = 4, begin = 0;
  bool writes_before = true, lasts = true, reads_behind = true, cooperative = true;
  int writer = 0, reader = 1;
  std::vector<float> passed = std::vector<float>(4, -1), results = std::vector<float>(4, -1);
  std::vector<std::uint32_t> counter = {begin};

  emulator::LaunchShape shape() const { return {4, 64, 0, 1, cooperative}; }
  emulator::Kernel kernel() {
    return [this](Block& block) {
      const Block::Global<float> places{std::span(passed)}, out{std::span(results)};
      const Block::Global<std::uint32_t> counters{std::span(counter)};
      const auto write = [&] {
        if (block.rank() == writer) places.store(block.index(), static_cast<float>(block.index()));
      };
      const auto read = [&] {
        if (block.rank() == reader) out.store(block.index(), places.load((block.index() + 1) % 4));
      };
      if (writes_before) write();
      if (lasts) block.sync();
      if (block.rank() == 0) {
        block.signal(counters, 0);
        block.wait_for(counters, 0, begin + needed);
      }
      if (!writes_before) write();
      if (!reads_behind) {
        block.sync_warp(kernels::whole_warp);
        read();
      }
      block.sync();
      if (reads_behind) read();
    };
  }
  std::vector<std::span<std::byte>> written() {
    return {std::as_writable_bytes(std::span(passed)), std::as_writable_bytes(std::span(results)),
            std::as_writable_bytes(std::span(counter))};
  }
  /// Whether every schedule shows such a defect.
  bool always_shows(FindingKind kind) const {
    return std::ranges::all_of(emulator::schedules, [&](emulator::Schedule schedule) {
      Relay own = *this;
      const auto traced = own.written();
      const emulator::LaunchReport report = emulator::launch(own.shape(), own.kernel(), {schedule, 1, traced});
      return std::ranges::any_of(report.findings, [&](const emulator::Finding& one) { return one.kind == kind; });
    });
  }
};

/// Nothing is found, and each block got its neighbour's number.
void expect_passed(Relay relay) {
  const auto written = relay.written();
  const emulator::LaunchReport report = emulator::launch_under_all_schedules(relay.shape(), written, relay.kernel());
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(relay.results, (std::vector<float>{1, 2, 3, 0}));
}

TEST(Grid, PassesNumbersBetweenItsBlocks) { expect_passed({}); }

// Of the thread that signals no barrier need stand behind its own write.
TEST(Grid, CarriesWhatTheSignallingThreadWrote) { expect_passed({.lasts = false}); }

TEST(Grid, CarriesWhatABlockWroteBeforeItsBarrier) {
  expect_passed({.writer = 40});
  EXPECT_TRUE((Relay{.lasts = false, .writer = 40}.always_shows(FindingKind::global_race)));
}

TEST(Grid, CountsPastTheLargestNumber) { expect_passed({.begin = 0xfffffffe}); }

TEST(Grid, OrdersNothingThatIsWrittenBehindTheSignal) {
  EXPECT_TRUE((Relay{.writes_before = false}.always_shows(FindingKind::global_race)));
}

TEST(Grid, OrdersOnlyByTheSignalsThatAreNeeded) {
  for (const std::uint32_t needed : {0U, 1U, 3U}) {
    EXPECT_TRUE((Relay{.needed = needed}.always_shows(FindingKind::global_race))) << needed;
  }
}

// A barrier of the warp is too little, although it would do on a GPU.
TEST(Grid, OrdersOtherThreadsBehindTheirNextBarrier) {
  EXPECT_TRUE((Relay{.reads_behind = false}.always_shows(FindingKind::global_race)));
}

// Block 2 hears of block 0 only through block 1.
TEST(Grid, PassesOnWhatABlockKnows) {
  std::vector<float> places = {0}, results = {0};
  std::vector<std::uint32_t> counter = {0, 0};
  const std::span<std::byte> written[] = {std::as_writable_bytes(std::span(places)),
                                          std::as_writable_bytes(std::span(results)),
                                          std::as_writable_bytes(std::span(counter))};
  for (const bool passes_on : {true, false}) {
    const emulator::LaunchReport report =
        emulator::launch_under_all_schedules({3, 32, 0, 1, true}, written, [&](Block& block) {
          const Block::Global<std::uint32_t> counters{std::span(counter)};
          const Block::Global<float> place{std::span(places)}, out{std::span(results)};
          const bool first = block.rank() == 0;
          if (block.index() == 0 && first) {
            place.store(0, 5);
            block.signal(counters, 0);
          }
          if (block.index() == 1) {
            if (first && passes_on) block.wait_for(counters, 0, 1);
            block.sync();
            if (first) block.signal(counters, 1);
          }
          if (block.index() == 2) {
            if (first) block.wait_for(counters, 1, 1);
            block.sync();
            if (first) out.store(0, place.load(0));
          }
        });
    EXPECT_EQ(report.clean(), passes_on) << report.text();
    if (passes_on) {
      EXPECT_EQ(results[0], 5);
    }
  }
}

TEST(Grid, ThatWaitsForTooManySignalsIsStuck) {
  EXPECT_TRUE((Relay{.needed = 5}.always_shows(FindingKind::divergent_barrier)));
  Relay relay{.needed = 5};
  const emulator::LaunchReport report = emulator::launch(relay.shape(), relay.kernel());
  EXPECT_NE(report.text().find("threads 0, 64, 128, 192 in wait_for at grid_test.cpp"), std::string::npos)
      << report.text();
}

TEST(Grid, WaitsOnlyInACooperativeLaunch) {
  EXPECT_TRUE((Relay{.cooperative = false}.always_shows(FindingKind::divergent_barrier)));
}

TEST(Grid, OfAnotherShapeIsRefused) {
  for (const emulator::LaunchShape& shape :
       {emulator::LaunchShape{4, 32, 0, 2, true}, {4, 48, 0, 1, true}, {1024, 32, 0, 1, true}}) {
    EXPECT_THROW(emulator::launch(shape, [](Block&) {}), std::invalid_argument);
  }
  EXPECT_TRUE(emulator::launch({0, 32, 0, 1, true}, [](Block&) {}).clean());
}

}  // namespace
}  // namespace softcheck::emulator_tests
