// What describe() says that the heads of a model compute is what transformers computes: queries, keys and scores of
// real forward passes are recomputed from each checkpoint's description, within the rounding of float32. A wrong
// reading of names, layouts, scales, norms, rotations, windows or sinks fails here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/architectures/description.hpp"
#include "models/read/checkpoint.hpp"
#include "proptests/tests/models/described_head.hpp"
#include "proptests/tests/models/observed_heads.hpp"

namespace softcheck::models {
namespace {

using Rows = std::vector<std::vector<Float32Bound>>;

/// A checkpoint of the folder: its GGUF file, or the folder itself.
std::filesystem::path checkpoint_path(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / "model.gguf") ? folder / "model.gguf" : folder;
}

/// The first of some keys that a configuration has.
double first_number(const Config& config, const std::vector<std::string>& keys, double otherwise) {
  for (const std::string& key : keys) {
    if (const std::optional<double> value = config.number(key)) return *value;
  }
  return otherwise;
}

double epsilon_of(const Config& config) {
  const std::string gguf = config.text("general.architecture").value_or("") + ".attention.";
  return first_number(config,
                      {"layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps", "text_config.rms_norm_eps",
                       gguf + "layer_norm_epsilon", gguf + "layer_norm_rms_epsilon"},
                      1e-12);  // DistilBERT's
}

/// The frequencies that the model uses for an input: of two lists the second beyond the context of pretraining.
std::size_t frequency_list(const Config& config, const HeadDescription& head, std::int64_t positions) {
  if (!head.rotary || head.rotary->frequencies.size() == 1) return 0;
  return static_cast<double>(positions) > first_number(config, {"original_max_position_embeddings"}, 0) ? 1 : 0;
}

/// Where transformers has a coordinate that a GGUF file has moved, so that a plane's two stand side by side.
std::int64_t coordinate(const HeadDescription& head, std::int64_t described) {
  if (!head.rotary || head.rotary->layout == PlaneLayout::half_split || described >= head.rotary->width)
    return described;
  return described / 2 + (described % 2) * (head.rotary->width / 2);
}

/// How many of the numbers lie outside their bounds.
int outside(const HeadDescription& head, const Rows& described, const ObservedTensor& observed, std::int64_t among) {
  int count = 0;
  for (std::size_t i = 0; i < described.size(); ++i) {
    for (std::size_t j = 0; j < described[i].size(); ++j) {
      const double seen =
          observed.at(static_cast<std::int64_t>(i), among, coordinate(head, static_cast<std::int64_t>(j)));
      if (!(std::abs(seen - described[i][j].value) <= described[i][j].error)) ++count;
    }
  }
  return count;
}

/// The scores of one query, and behind them the sink's, where there is one; less the largest then, as gpt-oss has them.
std::vector<Float32Bound> described_scores(const DescribedHead& attention, const HeadDescription& head,
                                           const Rows& queries, const Rows& keys, std::int64_t query) {
  std::vector<Float32Bound> scores;
  double largest = -INFINITY, error = 0;
  for (std::size_t key = 0; key < keys.size(); ++key) {
    if (!attention.attends(query, static_cast<std::int64_t>(key))) {
      scores.push_back({-INFINITY, 0});
      continue;
    }
    scores.push_back(attention.score(queries[static_cast<std::size_t>(query)], keys[key]));
    largest = std::max(largest, scores.back().value);
    error = std::max(error, scores.back().error);
  }
  if (head.sink.tensor.empty()) return scores;
  scores.push_back({attention.sink(), 0});
  largest = std::max(largest, scores.back().value);
  // A maximum moves no further than what it is taken of.
  for (Float32Bound& score : scores) score = score - Float32Bound{largest, error};
  return scores;
}

int scores_outside(const DescribedHead& attention, const HeadDescription& head, const Rows& queries, const Rows& keys,
                   const ObservedTensor& observed) {
  int count = 0;
  for (std::int64_t query = 0; query < static_cast<std::int64_t>(queries.size()); ++query) {
    const std::vector<Float32Bound> scores = described_scores(attention, head, queries, keys, query);
    if (static_cast<std::int64_t>(scores.size()) != observed.shape[2]) return -1;
    for (std::size_t key = 0; key < scores.size(); ++key) {
      const double seen = observed.at(head.head, query, static_cast<std::int64_t>(key));
      // transformers masks by adding the most negative float32.
      const bool masked = seen < -0x1p100;
      if (masked != std::isinf(scores[key].value)) ++count;
      if (!masked && !(std::abs(seen - scores[key].value) <= scores[key].error)) ++count;
    }
  }
  return count;
}

/// Where a model takes images, a window is widened by the tokens of one; what was observed is text.
ModelDescription of_text(ModelDescription model, const Config& config) {
  const std::int64_t image = config.integer("mm_tokens_per_image").value_or(1);
  for (HeadDescription& head : model.head_list) {
    if (head.window) *head.window -= static_cast<std::uint64_t>(image - 1);
  }
  return model;
}

class DescribedAttention : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(DescribedAttention, IsWhatTransformersComputes) {
  const auto checkpoint = open_checkpoint(checkpoint_path(GetParam()));
  const ModelDescription model = of_text(describe(*checkpoint), checkpoint->config());
  const auto observed = read_observed(GetParam());
  ASSERT_EQ(static_cast<std::int64_t>(model.head_list.size()), model.layers * model.heads);
  EXPECT_EQ(observed.size(), static_cast<std::size_t>(2 * 4 * model.layers));
  for (const HeadDescription& head : model.head_list) {
    for (const std::string input : {"0", "1"}) {
      SCOPED_TRACE("input " + input + " layer " + std::to_string(head.layer) + " head " + std::to_string(head.head));
      const std::string name = "input." + input + ".layers." + std::to_string(head.layer) + ".";
      const ObservedTensor& entered = observed.at(name + "input");
      const std::size_t list = frequency_list(checkpoint->config(), head, entered.shape[0]);
      const DescribedHead attention(*checkpoint, model, head, epsilon_of(checkpoint->config()), list);
      const Rows queries = attention.queries(entered), keys = attention.keys(entered);
      EXPECT_EQ(outside(head, queries, observed.at(name + "query"), head.head), 0);
      EXPECT_EQ(outside(head, keys, observed.at(name + "key"), head.key_head), 0);
      EXPECT_EQ(scores_outside(attention, head, queries, keys, observed.at(name + "scores")), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, DescribedAttention, ::testing::ValuesIn(observed_folders()),
                         [](const auto& folder) {
                           std::string name = folder.param.filename().string();
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace softcheck::models
