// models::observe sees the rows that the forward pass itself saw: causal ones, windows, capped logits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/report/checkpoint_run.hpp"
#include "proptests/tests/models/observed_heads.hpp"

namespace softcheck::proptests {
namespace {

using models::ObservedTensor;

struct Recorded {
  double spread = 0;  // the largest over rows of two items or more, by the forward pass's own scores
  double size = 0;    // the largest |q| |k|
  std::size_t rows = 0;
};

double largest_norm(const ObservedTensor& vectors, std::int64_t head) {
  double largest = 0;
  for (std::int64_t i = 0; i < vectors.shape[0]; ++i) {
    double square = 0;
    for (std::int64_t c = 0; c < vectors.shape[2]; ++c) square += vectors.at(i, head, c) * vectors.at(i, head, c);
    largest = std::max(largest, std::sqrt(square));
  }
  return largest;
}

Recorded recorded(const std::filesystem::path& folder, const models::HeadDescription& head) {
  const auto tensors = models::read_observed(folder);
  Recorded result;
  for (int input = 0; tensors.contains(fmt::format("input.{}.layers.0.query", input)); ++input) {
    const auto at = [&](const char* what) -> const ObservedTensor& {
      return tensors.at(fmt::format("input.{}.layers.{}.{}", input, head.layer, what));
    };
    result.size = std::max(result.size, largest_norm(at("query"), head.head) * largest_norm(at("key"), head.key_head));
    const ObservedTensor& scores = at("scores");
    for (std::int64_t i = 0; i < scores.shape[1]; ++i) {
      std::vector<double> row;
      for (std::int64_t j = 0; j < scores.shape[2]; ++j) {
        if (scores.at(head.head, i, j) > -1e30) row.push_back(scores.at(head.head, i, j));  // masked ones lie far below
      }
      if (row.size() < 2) continue;
      ++result.rows;
      const auto [low, high] = std::ranges::minmax(row);
      result.spread = std::max(result.spread, high - low);
    }
  }
  return result;
}

TEST(Observe, RowsAreThoseOfTheForwardPass) {
  for (const std::filesystem::path& folder : models::observed_folders()) {
    if (std::filesystem::exists(folder / "model.gguf")) continue;
    // Its window is the widest that images allow: rows of text see fewer keys than observe() takes.
    if (folder.filename() == "gemma3") continue;
    models::CheckpointQuestion question;
    question.path = folder.string();
    question.activations = (folder / "observed.safetensors").string();
    const models::CheckpointReport report = models::certify_checkpoint(question);
    ASSERT_EQ(report.observed.size(), report.heads.size()) << folder;
    for (const models::ObservedHead& observed : report.observed) {
      const models::HeadDescription& head = report.heads[observed.place].head;
      if (!head.sink.tensor.empty()) continue;  // recorded scores have the sink among them
      SCOPED_TRACE(fmt::format("{} {}.{}", folder.filename().string(), head.layer, head.head));
      const Recorded seen = recorded(folder, head);
      EXPECT_EQ(observed.rows, seen.rows);
      // Both logits of a spread come from f32 sums of dh products, a scale and a cap of a few roundings.
      const double room =
          2 * (static_cast<double>(report.model.head_dim) + 8) * 0x1p-24 * head.scale.upper_double() * seen.size;
      EXPECT_GE(observed.spread.upper, seen.spread - room);
      EXPECT_LE(observed.spread.lower, seen.spread + room);
    }
  }
}

}  // namespace
}  // namespace softcheck::proptests
