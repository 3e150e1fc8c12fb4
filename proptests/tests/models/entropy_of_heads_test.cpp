// Figure 3's numbers are those of the rows that see so many items.
#include "experiments/figures/entropy_of_heads.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "models/forward/forward_pass.hpp"
#include "proptests/tests/models/forward_inputs.hpp"

namespace softcheck::experiments {
namespace {

using Eigen::Index;
using models::checkpoint_folder;

models::TokenIds two_inputs() {
  models::TokenIds inputs(2);
  for (std::int64_t i = 0; i < 20; ++i) inputs[0].push_back(3 + (7 * i) % 37);
  for (std::int64_t i = 0; i < 33; ++i) inputs[1].push_back(3 + (5 * i) % 37);
  return inputs;
}

std::vector<HeadEntropy> points_of(const std::string& folder) {
  const std::filesystem::path file =
      std::filesystem::path(::testing::TempDir()) / ("entropy_of_heads_" + std::to_string(::getpid()));
  {
    std::ofstream text(file);
    for (const std::vector<std::int64_t>& ids : two_inputs()) {
      for (const std::int64_t id : ids) text << id << ' ';
      text << '\n';
    }
  }
  const std::vector<HeadEntropy> points = entropies_of_heads(
      {.model = checkpoint_folder(folder).string(), .tokens = file.string(), .kernel = models::attention_kernel()});
  std::filesystem::remove(file);
  return points;
}

struct Seen {
  std::size_t rows = 0;
  double sum = 0, least = INFINITY, largest = 0;

  void add(double entropy) {
    ++rows;
    sum += entropy;
    least = std::min(least, entropy);
    largest = std::max(largest, entropy);
  }
};

/// inputs    of one pass; rows(input, row) says whether it sees the items in question
template <class Counts>
Seen seen_of(const std::string& folder, const models::TokenIds& inputs, const HeadEntropy& point, Counts counts) {
  const auto checkpoint = models::open_checkpoint(checkpoint_folder(folder));
  const models::ForwardPass pass(*checkpoint, models::describe(*checkpoint), inputs, models::attention_kernel());
  Seen seen;
  pass.run(point.layer, [&](const models::LayerAttention& layer) {
    if (layer.layer != point.layer) return true;
    for (std::size_t input = 0; input < inputs.size(); ++input) {
      const models::TokenRange range = pass.inputs()[input];
      for (Index i = 0; i < range.count; ++i) {
        if (counts(input, i)) seen.add(layer.entropy(range.first + i, point.head));
      }
    }
    return true;
  });
  return seen;
}

void expect_same(const HeadEntropy& point, const Seen& seen) {
  EXPECT_EQ(point.rows, seen.rows);
  EXPECT_EQ(point.least, seen.least);
  EXPECT_EQ(point.largest, seen.largest);
  // Two sums of the same rows, each of at most ln 32.
  const auto rows = static_cast<double>(seen.rows);
  EXPECT_NEAR(point.sum, seen.sum, 2 * rows * rows * 0x1p-53 * std::log(32.0));
  EXPECT_LE(point.certified_floor, point.least);
}

TEST(EntropyOfHeads, EveryQueryOfAnEncoderSeesAllItems) {
  const std::vector<HeadEntropy> points = points_of("bert");
  ASSERT_EQ(points.size(), 2U * 4U * 2U);
  const models::TokenIds ids = two_inputs();
  const auto prefix = [&](std::size_t input, std::int64_t items) {
    return std::vector<std::int64_t>(ids[input].begin(), ids[input].begin() + items);
  };
  // In the order of the figure's own pass: the same products, so the same bits.
  const models::TokenIds inputs = {prefix(0, 16), prefix(1, 16), prefix(1, 32)};
  for (const HeadEntropy& point : points) {
    expect_same(point, seen_of("bert", inputs, point, [&](std::size_t input, Index) {
                  return static_cast<std::int64_t>(inputs[input].size()) == point.items;
                }));
  }
}

TEST(EntropyOfHeads, OneQueryOfACausalInputSeesSoManyItems) {
  const std::vector<HeadEntropy> points = points_of("gpt2");
  ASSERT_EQ(points.size(), 2U * 4U * 2U);
  for (const HeadEntropy& point : points) {
    expect_same(point,
                seen_of("gpt2", two_inputs(), point, [&](std::size_t, Index i) { return i + 1 == point.items; }));
  }
}

}  // namespace
}  // namespace softcheck::experiments
