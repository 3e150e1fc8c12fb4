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

std::vector<Planted> every_planted() {
  std::vector<Planted> all;
  for (const std::span<const Planted> part : {planted_threads(), planted_memory()}) {
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
