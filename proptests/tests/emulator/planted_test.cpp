// Every planted bug is found, at its own lines, whatever the schedule; its repair raises nothing.
#include "proptests/tests/emulator/planted.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <numeric>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "kernels/emulator/plugin/launched.hpp"

namespace softcheck::emulator_tests {
namespace {

// Indices outside their views, shared memory read before it is written, results that depend on which thread comes
// first.

void loop_one_too_far(Block& block, const Buffers& buffers, bool planted) {
  const std::int64_t n = buffers.in.size() + (planted ? 1 : 0);
  float sum = 0;
  for (std::int64_t i = block.rank(); i < n; i += block.size()) {
    sum += buffers.in.load(i);  // <- loop_one_too_far
  }
  buffers.out.store(block.rank(), sum);
}

// Whole tiles, also where the row ends inside one.
void tail_written_as_a_tile(Block& block, const Buffers& buffers, bool planted) {
  const std::int64_t i = block.index() * block.size() + block.rank();
  if (planted || i < buffers.out.size()) {
    buffers.out.store(i, 2.0F);  // <- tail_written_as_a_tile
  }
}

void more_warps_than_partials(Block& block, const Buffers& buffers, bool planted) {
  const auto partials = block.shared<float>(planted ? 2 : 3);
  if (block.lane() == 0) partials.store(block.warp(), buffers.in.load(block.warp()));  // <- more_warps_than_partials
  block.sync();
  if (block.rank() < 2) buffers.out.store(block.rank(), partials.load(block.rank()));
}

void index_before_the_first(Block& block, const Buffers& buffers, bool planted) {
  const int before = block.rank() - 1;
  const float left = planted || before >= 0 ? buffers.in.load(before) : 0;  // <- index_before_the_first
  buffers.out.store(block.rank(), left);
}

// Row times width in 32 bits is negative from 2^31 on.
void index_in_32_bits(Block& block, const Buffers& buffers, bool planted) {
  const std::int64_t wide = (std::int64_t{1} << 32) * block.index() + block.rank();
  const std::int64_t index = planted ? static_cast<std::int32_t>(wide + 0x80000000LL) : wide;
  buffers.out.store(block.rank(), buffers.in.load(index));  // <- index_in_32_bits
}

// Two at once at every place, also at the odd ones.
void pairs_at_any_index(Block& block, const Buffers& buffers, bool planted) {
  const int index = planted ? block.rank() : 2 * block.rank();
  const auto pair = buffers.in.load_vector<2>(index);  // <- pairs_at_any_index
  buffers.out.store(block.rank(), pair.entry[0] + pair.entry[1]);
}

// Rows of a tile that are no multiple of what is moved.
void rows_of_odd_length(Block& block, const Buffers& buffers, bool planted) {
  const auto tile = block.shared<float>(block.size() * 8);
  const int row = block.rank() * (planted ? 5 : 8);
  tile.store_vector(row, kernels::Vector<float, 4>{{1, 2, 3, buffers.in.load(block.rank())}});  // <- rows_of_odd_length
  buffers.out.store(block.rank(), 1);
}

// The last four of a row that has two more.
void vector_beyond_the_row(Block& block, const Buffers& buffers, bool planted) {
  const std::int64_t index = 4 * block.rank();
  float sum = 0;
  if (planted || index + 4 <= buffers.in.size()) {
    const auto items = buffers.in.load_vector<4>(index);  // <- vector_beyond_the_row
    for (const float x : items.entry) sum += x;
  }
  buffers.out.store(block.rank(), sum);
}

void more_shared_than_launched(Block& block, const Buffers& buffers, bool planted) {
  const auto first = block.shared<float>(block.size());
  first.store(block.rank(), buffers.in.load(block.rank()));
  if (planted) {
    const auto second = block.shared<float>(block.size());  // <- more_shared_than_launched
    second.store(block.rank(), 0);
  }
  buffers.out.store(block.rank(), first.load(block.rank()));
}

// Threads without an element write no partial, which the reduction reads.
void partials_of_the_tail(Block& block, const Buffers& buffers, bool planted) {
  const auto shared = block.shared<float>(block.size());
  const bool idle = block.rank() >= buffers.in.size();
  if (!idle || !planted) shared.store(block.rank(), idle ? 0 : buffers.in.load(block.rank()));
  block.sync();
  if (block.rank() != 0) return;
  float sum = 0;
  for (int i = 0; i < block.size(); ++i) sum += shared.load(i);  // <- partials_of_the_tail
  buffers.out.store(0, sum);
}

void counter_not_cleared(Block& block, const Buffers& buffers, bool planted) {
  const auto count = block.shared<float>(1);
  if (!planted && block.rank() == 0) count.store(0, 0);
  block.sync();
  block.atomic_add(count, 0, buffers.in.load(block.rank()));  // <- counter_not_cleared
  block.sync();
  if (block.rank() == 0) buffers.out.store(0, count.load(0));
}

// What block 0 wrote is no more there when block 1 runs.
void table_filled_by_the_first_block(Block& block, const Buffers& buffers, bool planted) {
  const auto table = block.shared<float>(block.size());
  if (!planted || block.index() == 0) table.store(block.rank(), buffers.in.load(block.rank()));
  block.sync();
  const float value = table.load(block.size() - 1 - block.rank());  // <- table_filled_by_the_first_block
  buffers.out.store(block.index() * block.size() + block.rank(), value);
}

// A sum of floats in the order of arrival.
void sum_by_atomics(Block& block, const Buffers& buffers, bool planted) {
  const float value = 1.0F / (1.0F + buffers.in.load(block.rank()));
  if (planted) {
    block.atomic_add(buffers.out, 0, value);
  } else if (block.rank() == 0) {
    buffers.out.store(0, value);
  }
}

void last_block_wins(Block& block, const Buffers& buffers, bool planted) {
  if (block.rank() != 0) return;
  buffers.out.store(planted ? 0 : block.index(), buffers.in.load(block.index()));  // <- last_block_wins
}

// All write the same: no schedule shows it.
void blocks_that_agree(Block& block, const Buffers& buffers, bool planted) {
  if (block.rank() != 0 || (!planted && block.index() != 0)) return;
  buffers.out.store(0, 5.0F);  // <- blocks_that_agree
}

// A total that the first block writes and the others read: nothing says that it ran before them.
void total_of_the_first_block(Block& block, const Buffers& buffers, bool planted) {
  if (block.rank() != 0) return;
  if (block.index() == 0) buffers.out.store(0, buffers.in.load(0));        // <- total_of_the_first_block
  const float total = planted ? buffers.out.load(0) : buffers.in.load(0);  // <- total_of_the_first_block
  buffers.out.store(1 + block.index(), total);
}

// In place: a neighbour's element may be written before it is read.
void neighbours_in_place(Block& block, const Buffers& buffers, bool planted) {
  buffers.out.store(block.rank(), buffers.in.load(block.rank()));
  block.sync();
  const float next = buffers.out.load((block.rank() + 1) % block.size());  // <- neighbours_in_place
  if (!planted) block.sync();
  buffers.out.store(block.rank(), next);  // <- neighbours_in_place
}

// A warp's barrier for what another warp wrote.
void global_between_warps(Block& block, const Buffers& buffers, bool planted) {
  buffers.out.store(block.rank(), buffers.in.load(block.rank()));  // <- global_between_warps
  block.sync_warp(whole_warp);
  if (!planted) block.sync();
  const float other = buffers.out.load((block.rank() + warp_size) % block.size());  // <- global_between_warps
  buffers.out.store(block.size() + block.rank(), other);
}

constexpr auto bounds = FindingKind::out_of_bounds;
constexpr auto misaligned = FindingKind::misaligned;
constexpr auto unwritten = FindingKind::uninitialised_shared;
constexpr auto exhausted = FindingKind::shared_exhausted;
constexpr auto dependent = FindingKind::schedule_dependent;
constexpr auto global = FindingKind::global_race;
constexpr Planted planted_memory[] = {
    {"loop_one_too_far", __FILE__, bounds, {1, 64, 0}, 100, 64, loop_one_too_far},
    {"tail_written_as_a_tile", __FILE__, bounds, {2, 32, 0}, 1, 50, tail_written_as_a_tile},
    {"more_warps_than_partials", __FILE__, bounds, {1, 96, 12}, 3, 2, more_warps_than_partials},
    {"pairs_at_any_index", __FILE__, misaligned, {1, 32, 0}, 64, 32, pairs_at_any_index},
    {"rows_of_odd_length", __FILE__, misaligned, {1, 32, 1024}, 32, 32, rows_of_odd_length},
    {"vector_beyond_the_row", __FILE__, bounds, {1, 32, 0}, 126, 32, vector_beyond_the_row},
    {"index_before_the_first", __FILE__, bounds, {1, 32, 0}, 32, 32, index_before_the_first},
    {"index_in_32_bits", __FILE__, bounds, {1, 32, 0}, 32, 32, index_in_32_bits},
    {"more_shared_than_launched", __FILE__, exhausted, {1, 32, 128}, 32, 32, more_shared_than_launched},
    {"partials_of_the_tail", __FILE__, unwritten, {1, 64, 256}, 50, 1, partials_of_the_tail},
    {"counter_not_cleared", __FILE__, unwritten, {1, 32, 4}, 32, 1, counter_not_cleared},
    {"table_filled_by_the_first_block", __FILE__, unwritten, {2, 32, 128}, 32, 64, table_filled_by_the_first_block},
    {"sum_by_atomics", __FILE__, dependent, {1, 64, 0}, 64, 1, sum_by_atomics},
    {"last_block_wins", __FILE__, global, {3, 32, 0}, 3, 3, last_block_wins},
    {"blocks_that_agree", __FILE__, global, {3, 32, 0}, 3, 1, blocks_that_agree},
    {"total_of_the_first_block", __FILE__, global, {3, 32, 0}, 1, 4, total_of_the_first_block},
    {"neighbours_in_place", __FILE__, global, {1, 64, 0}, 64, 64, neighbours_in_place},
    {"global_between_warps", __FILE__, global, {1, 64, 0}, 64, 128, global_between_warps},
};

std::vector<Planted> every_planted() {
  std::vector<Planted> all;
  for (const std::span<const Planted> part : {planted_threads(), std::span<const Planted>(planted_memory)}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// The lines that end in "<- NAME".
std::set<unsigned> marked_lines(const Planted& planted) {
  std::ifstream source(planted.file);
  std::set<unsigned> lines;
  std::string text;
  const std::string mark = std::string("// <- ") + planted.name;
  for (unsigned number = 1; std::getline(source, text); ++number) {
    if (text.ends_with(mark)) lines.insert(number);
  }
  return lines;
}

struct Memory {
  explicit Memory(const Planted& planted)
      : in(static_cast<std::size_t>(planted.in)), out(static_cast<std::size_t>(planted.out)) {
    std::iota(in.begin(), in.end(), 1.0F);
  }
  Buffers buffers() { return {std::span<const float>(in), std::span<float>(out)}; }
  std::vector<float> in;
  std::vector<float> out;
};

emulator::LaunchReport run(const Planted& planted, bool with_bug, const emulator::LaunchOptions& options) {
  Memory memory(planted);
  const Buffers buffers = memory.buffers();
  const std::span<std::byte> written = std::as_writable_bytes(std::span<float>(memory.out));
  emulator::LaunchOptions tracing = options;
  tracing.traced = {&written, 1};
  return launch(
      planted.shape, [&](Block& block) { planted.kernel(block, buffers, with_bug); }, tracing);
}

emulator::LaunchReport run_all(const Planted& planted, bool with_bug) {
  Memory memory(planted);
  const Buffers buffers = memory.buffers();
  const std::span<std::byte> written = std::as_writable_bytes(std::span<float>(memory.out));
  return launch_under_all_schedules(planted.shape, {&written, 1},
                                    [&](Block& block) { planted.kernel(block, buffers, with_bug); });
}

}  // namespace

void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.name; }

namespace {

class PlantedBug : public testing::TestWithParam<Planted> {};

TEST_P(PlantedBug, IsFoundAtItsLinesUnderEverySchedule) {
  const Planted& planted = GetParam();
  const std::set<unsigned> expected = marked_lines(planted);
  if (planted.kind == FindingKind::schedule_dependent) {
    const emulator::LaunchReport report = run_all(planted, true);
    ASSERT_EQ(report.findings.size(), 1U) << report.text();
    EXPECT_EQ(report.findings[0].kind, planted.kind);
    return;
  }
  ASSERT_FALSE(expected.empty()) << "no line of " << planted.file << " ends in <- " << planted.name;
  for (const emulator::Schedule schedule : emulator::schedules) {
    const emulator::LaunchReport report = run(planted, true, {schedule, 7});
    std::set<unsigned> found;
    bool of_its_kind = false;
    for (const emulator::Finding& finding : report.findings) {
      of_its_kind |= finding.kind == planted.kind;
      // Who reads too early may read what nobody has written yet.
      if (planted.kind != FindingKind::shared_race || finding.kind != FindingKind::uninitialised_shared) {
        EXPECT_EQ(finding.kind, planted.kind) << finding.message;
      }
      for (const emulator::SourceLine line : finding.lines) {
        EXPECT_STREQ(line.file, planted.file);
        EXPECT_NE(finding.message.find(to_string(line)), std::string::npos) << finding.message;
        found.insert(line.line);
      }
    }
    EXPECT_TRUE(of_its_kind) << to_string(schedule) << '\n' << report.text();
    EXPECT_EQ(found, expected) << to_string(schedule) << '\n' << report.text();
  }
}

TEST_P(PlantedBug, RepairedRaisesNothingUnderAnySchedule) {
  const emulator::LaunchReport report = run_all(GetParam(), false);
  EXPECT_TRUE(report.clean()) << report.text();
}

// Behind the ABI a finding is the end of the process, and so a verdict of the judge: no kernel passes with one.
TEST(PlantedBugBehindTheAbi, EndsTheProcessWithItsFinding) {
  const Planted planted = planted_threads().front();
  Memory memory(planted);
  const Buffers buffers = memory.buffers();
  EXPECT_EXIT(emulator::launched(
                  planted.shape, [&](Block& block) { planted.kernel(block, buffers, true); }, 0),
              testing::KilledBySignal(SIGABRT), "race on shared memory");
  emulator::launched(
      planted.shape, [&](Block& block) { planted.kernel(block, buffers, false); }, 0);
}

INSTANTIATE_TEST_SUITE_P(Emulator, PlantedBug, testing::ValuesIn(every_planted()),
                         [](const testing::TestParamInfo<Planted>& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace softcheck::emulator_tests
