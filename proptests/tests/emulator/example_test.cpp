// What docs/kernels/emulator.md shows, compiled and run; a test holds the page to this text.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

// [example]
#include "kernels/emulator/block.hpp"

namespace emulator = softcheck::kernels::emulator;

// One body for the GPU and for the test: largest[row] = the largest of a row, a block a row.
template <softcheck::kernels::BlockContext Block>
SOFTCHECK_BODY void row_maxima(Block& block, typename Block::template Global<const float> rows,
                               typename Block::template Global<float> largest) {
  const std::int64_t n = rows.size() / block.count();
  const auto partials = block.template shared<float>(block.size());
  float own = -INFINITY;
  for (std::int64_t i = block.rank(); i < n; i += block.size()) own = fmaxf(own, rows.load(block.index() * n + i));
  partials.store(block.rank(), own);
  block.sync();
  for (int half = block.size() / 2; half > 0; half /= 2) {
    if (block.rank() < half) {
      partials.store(block.rank(), fmaxf(partials.load(block.rank()), partials.load(block.rank() + half)));
    }
    block.sync();
  }
  if (block.rank() == 0) largest.store(block.index(), partials.load(0));
}

TEST(RowMaxima, AreRightAndCleanUnderEverySchedule) {
  const std::vector<float> rows = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
  std::vector<float> largest(3);
  const std::span<std::byte> written = std::as_writable_bytes(std::span<float>(largest));
  const emulator::LaunchShape shape{.blocks = 3, .threads = 64, .shared_bytes = 64 * sizeof(float)};
  const emulator::LaunchReport report =
      emulator::launch_under_all_schedules(shape, {&written, 1}, [&](emulator::Block& block) {
        row_maxima(block, emulator::GlobalView<const float>(rows), emulator::GlobalView<float>(largest));
      });
  EXPECT_TRUE(report.clean()) << report.text();
  EXPECT_EQ(largest, (std::vector<float>{4, 9, 8}));
}
// [example]

namespace {

std::string contents(const std::string& path) {
  std::ifstream file(std::string(SOFTCHECK_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(EmulatorPage, ShowsTheExampleThatIsRun) {
  const std::string source = contents("proptests/tests/emulator/example_test.cpp");
  const std::string mark = "// [example]\n";
  const std::size_t begin = source.find(mark) + mark.size();
  const std::string example = source.substr(begin, source.find(mark, begin) - begin);
  ASSERT_GT(example.size(), 500U);
  EXPECT_NE(contents("docs/kernels/emulator.md").find("```cpp\n" + example + "```"), std::string::npos)
      << "docs/kernels/emulator.md does not hold the example as it is:\n"
      << example;
}

}  // namespace
