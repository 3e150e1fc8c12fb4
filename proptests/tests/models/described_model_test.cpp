// What no forward pass shows of a description: sizes, and that old configurations mean what new ones do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/architectures/description.hpp"
#include "models/read/checkpoint.hpp"
#include "proptests/tests/models/described_head.hpp"
#include "proptests/tests/models/edited_checkpoint.hpp"
#include "proptests/tests/models/observed_heads.hpp"

namespace softcheck::models {
namespace {

ModelDescription description_of(const std::string& folder, const std::string& config = "{}") {
  return describe(EditedCheckpoint({folder, config}));
}

const Rotary& rotary_of(const ModelDescription& model) { return model.head_list.back().rotary.value(); }

TEST(DescribedModel, HasTheContextThatItWasMadeFor) {
  // RoBERTa's positions begin behind its padding token's, 1; a ViT has 4 x 4 patches and the class token.
  const std::map<std::string, std::int64_t> contexts = {{"bert", 64},  {"roberta", 62}, {"xlm-roberta", 62},
                                                        {"vit", 17},   {"gpt2", 64},    {"distilbert", 64},
                                                        {"llama", 64}, {"gemma3", 64}};
  for (const auto& [folder, context] : contexts) EXPECT_EQ(description_of(folder).context, context) << folder;
}

TEST(DescribedModel, HasTheSizesOfItsConfiguration) {
  const ModelDescription model = description_of("mistral");
  EXPECT_EQ(model.architecture, "mistral");
  EXPECT_EQ(model.layers, 2);
  EXPECT_EQ(model.heads, 4);
  EXPECT_EQ(model.key_heads, 2);
  EXPECT_EQ(model.hidden, 32);
  EXPECT_EQ(model.head_dim, 12);
  EXPECT_TRUE(model.head_list.front().causal);
  EXPECT_FALSE(description_of("bert").head_list.front().causal);
  EXPECT_TRUE(description_of("bert", R"({"is_decoder": true})").head_list.front().causal);
  // An image of 4 tokens widens a window of 5.
  EXPECT_EQ(description_of("gemma3").head_list.front().window, 8U);
}

// Of several stacks layers are counted on: each has its own sizes.
TEST(DescribedModel, HasTheSizesOfItsParts) {
  struct Part {
    std::string name;
    std::int64_t layers, heads, hidden, head_dim, context;
    bool causal;
  };
  const std::map<std::string, std::vector<Part>> expected = {
      {"clip", {{"text", 1, 4, 32, 8, 24, true}, {"vision", 2, 3, 36, 12, 17, false}}},
      {"siglip", {{"text", 1, 4, 32, 8, 24, false}, {"vision", 2, 3, 36, 12, 16, false}}},
      {"whisper",
       {{"encoder", 2, 2, 32, 16, 11, false},
        {"decoder", 2, 2, 32, 16, 24, true},
        {"cross-attention", 2, 2, 32, 16, 11, false}}},
      {"t5",
       {{"encoder", 2, 2, 32, 12, 512, false},
        {"decoder", 1, 2, 32, 12, 512, true},
        {"cross-attention", 1, 2, 32, 12, 512, false}}}};
  for (const auto& [folder, parts] : expected) {
    SCOPED_TRACE(folder);
    const ModelDescription model = description_of(folder);
    ASSERT_EQ(model.parts.size(), parts.size());
    auto head = model.head_list.begin();
    std::int64_t layer = 0;
    for (const Part& part : parts) {
      for (const std::int64_t end = layer + part.layers; layer < end; ++layer) {
        const ModelDescription& sizes = model.part_of(layer);
        EXPECT_EQ(sizes.architecture, part.name);
        EXPECT_EQ(sizes.hidden, part.hidden);
        EXPECT_EQ(sizes.head_dim, part.head_dim);
        EXPECT_EQ(sizes.context, part.context);
        for (std::int64_t number = 0; number < part.heads; ++number, ++head) {
          ASSERT_NE(head, model.head_list.end());
          EXPECT_EQ(head->layer, layer);
          EXPECT_EQ(head->head, number);
          EXPECT_EQ(head->causal, part.causal);
        }
      }
    }
    EXPECT_EQ(model.layers, layer);
    EXPECT_EQ(head, model.head_list.end());
  }
  // T5's decoder has a default: as many layers as the encoder.
  EXPECT_THROW(description_of("t5", R"({"num_decoder_layers": null})"), TensorFileError);
}

TEST(DescribedModel, KnowsTheTablesThatItsFirstLayerReads) {
  struct Tables {
    std::string tokens, positions;
    std::int64_t first = 0, places = 0;
    bool types = false;
    double epsilon = 0;
  };
  const std::string bert = "embeddings.word_embeddings.weight", positions = "embeddings.position_embeddings.weight";
  // Epsilons are those of transformers where the key is absent.
  const std::map<std::string, Tables> expected = {
      {"bert", {bert, positions, 0, 64, true, 1e-12}},
      {"roberta", {bert, positions, 2, 62, true, 1e-12}},
      {"xlm-roberta", {"roberta." + bert, "roberta." + positions, 2, 62, true, 1e-12}},
      {"distilbert", {"distilbert." + bert, "distilbert." + positions, 0, 64, false, 1e-12}},
      {"gpt2", {"transformer.wte.weight", "transformer.wpe.weight", 0, 64, false, 1e-5}},
      {"gpt_neox", {"gpt_neox.embed_in.weight", "", 0, 0, false, 1e-5}},
      {"llama", {"model.embed_tokens.weight", "", 0, 0, false, 1e-6}},
      {"mistral", {"embed_tokens.weight", "", 0, 0, false, 1e-6}},
      {"qwen2", {"model.embed_tokens.weight", "", 0, 0, false, 1e-6}},
      {"phi3", {"model.embed_tokens.weight", "", 0, 0, false, 1e-5}},
      {"gpt_oss", {"model.embed_tokens.weight", "", 0, 0, false, 1e-5}}};
  for (const auto& [folder, tables] : expected) {
    SCOPED_TRACE(folder);
    const bool rms = tables.positions.empty() && folder != "gpt_neox";
    const std::string key = rms ? "rms_norm_eps" : folder == "gpt2" ? "layer_norm_epsilon" : "layer_norm_eps";
    const auto inputs = description_of(folder, "{\"" + key + "\": null}").inputs;
    ASSERT_TRUE(inputs);
    EXPECT_EQ(inputs->tokens, tables.tokens);
    EXPECT_EQ(inputs->positions, tables.positions);
    EXPECT_EQ(inputs->position_rows.first, tables.first);
    EXPECT_EQ(inputs->position_rows.count, tables.places);
    EXPECT_EQ(!inputs->types.empty(), tables.types);
    EXPECT_EQ(inputs->epsilon, tables.epsilon);
    if (folder == "distilbert") continue;  // its key has no such name
    EXPECT_EQ(description_of(folder, "{\"" + key + "\": 0.25}").inputs->epsilon, 0.25);
    EXPECT_THROW(description_of(folder, R"({"vocab_size": 41})"), TensorFileError);
  }
  for (const std::string folder : {"gemma", "gemma2", "gemma3", "qwen3", "olmo2", "vit"}) {
    EXPECT_FALSE(description_of(folder).inputs) << folder;
  }
}

TEST(DescribedModel, IsTheSameByOldRopeKeys) {
  struct Pair {
    std::string folder, old_keys;
  };
  for (const Pair& pair : std::vector<Pair>{
           {"llama", R"({"rope_parameters": null, "rope_theta": 10000.0, "rope_scaling": {"rope_type": "llama3",
             "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}})"},
           {"mistral", R"({"rope_parameters": null, "rope_scaling": {"type": "linear", "factor": 2.5}})"},
           {"gpt_neox", R"({"rope_parameters": null, "rotary_pct": 0.25, "rotary_emb_base": 10000})"},
           {"phi3", R"({"rope_parameters": null, "partial_rotary_factor": 0.75, "rope_scaling": {"type": "su",
             "short_factor": [1.0, 1.1, 1.2, 1.4, 1.7, 2.0], "long_factor": [1.0, 1.5, 2.5, 4.0, 6.0, 9.0]}})"},
           {"gemma3_text", R"({"rope_parameters": null, "rope_theta": 1000000, "rope_local_base_freq": 10000})"},
           {"glm4", R"({"rope_parameters": null, "partial_rotary_factor": 0.5, "rope_theta": 10000.0})"},
           {"modernbert", R"({"rope_parameters": null, "global_rope_theta": 160000, "local_rope_theta": 10000})"}}) {
    const ModelDescription now = description_of(pair.folder), old = description_of(pair.folder, pair.old_keys);
    ASSERT_EQ(rotary_of(old).frequencies.size(), rotary_of(now).frequencies.size()) << pair.folder;
    EXPECT_EQ(rotary_of(old).width, rotary_of(now).width);
    EXPECT_EQ(rotary_of(old).factor.midpoint(), rotary_of(now).factor.midpoint());
    for (std::size_t list = 0; list < rotary_of(now).frequencies.size(); ++list) {
      for (std::size_t plane = 0; plane < rotary_of(now).frequencies[list].size(); ++plane) {
        EXPECT_EQ(rotary_of(old).frequencies[list].at(plane).midpoint(),
                  rotary_of(now).frequencies[list][plane].midpoint());
      }
    }
  }
}

// 32 and 1 turns of a context: what transformers takes where the configuration does not say.
TEST(DescribedModel, HasTheUsualEndsOfYarnWhereNoneAreGiven) {
  const auto frequencies = [](const std::string& keys) {
    const ModelDescription model = description_of("qwen2", R"({"rope_parameters": {"truncate": false)" + keys + "}}");
    std::vector<double> numbers;
    for (const numerics::Enclosure& one : rotary_of(model).frequencies[0]) numbers.push_back(one.midpoint());
    return numbers;
  };
  const std::vector<double> usual = frequencies("");
  EXPECT_EQ(usual, frequencies(R"(, "beta_fast": 32, "beta_slow": 1)"));
  EXPECT_NE(usual, frequencies(R"(, "beta_fast": 33)"));
  EXPECT_NE(usual, frequencies(R"(, "beta_slow": 2)"));
}

TEST(DescribedModel, LeavesLayersWithoutPositionsToTheirKey) {
  const auto rotated = [](const std::string& config) {
    const ModelDescription model = description_of("smollm3", config);
    return std::vector<bool>{model.head_list.front().rotary.has_value(), model.head_list.back().rotary.has_value()};
  };
  EXPECT_EQ(rotated("{}"), (std::vector<bool>{true, false}));
  EXPECT_EQ(rotated(R"({"no_rope_layers": [0, 1]})"), (std::vector<bool>{false, true}));
  EXPECT_EQ(rotated(R"({"no_rope_layers": null})"), (std::vector<bool>{true, false}));
  EXPECT_EQ(rotated(R"({"no_rope_layers": null, "no_rope_layer_interval": null})"), (std::vector<bool>{true, true}));
  EXPECT_FALSE(description_of("esm", R"({"position_embedding_type": "absolute"})").head_list.front().rotary);
}

TEST(DescribedModel, RotatesAsFewAsTwoCoordinates) {
  const ModelDescription model = description_of("gpt_neox", R"({"rope_parameters": {"partial_rotary_factor": 0.125}})");
  EXPECT_EQ(model.head_dim, 16);
  EXPECT_EQ(rotary_of(model).width, 2);
}

TEST(DescribedModel, ScalesYarnByBothMagnitudesWhereBothAreGiven) {
  const auto factor_with = [](const std::string& keys) {
    return rotary_of(description_of("qwen2", R"({"rope_parameters": )" + keys + "}")).factor.midpoint();
  };
  const double plain = factor_with("{}");
  EXPECT_GT(plain, 1);
  EXPECT_EQ(factor_with(R"({"attention_factor": 1.25})"), 1.25);
  EXPECT_EQ(factor_with(R"({"mscale": 0.5, "mscale_all_dim": 0.5})"), 1);
  EXPECT_EQ(factor_with(R"({"mscale": 2.0})"), plain);
  EXPECT_GT(factor_with(R"({"mscale": 2.0, "mscale_all_dim": 1.0})"), 1);
}

TEST(DescribedModel, LeavesWindowsToTheKeysOfItsArchitecture) {
  const auto windows = [](const std::string& folder, const std::string& config) {
    std::vector<std::uint64_t> widths;
    for (const HeadDescription& head : description_of(folder, config).head_list) {
      if (head.head == 0) widths.push_back(head.window.value_or(0));
    }
    return widths;
  };
  using Widths = std::vector<std::uint64_t>;
  EXPECT_EQ(windows("qwen2", R"({"layer_types": null})"), (Widths{0, 6}));
  EXPECT_EQ(windows("qwen2", R"({"layer_types": null, "use_sliding_window": false})"), (Widths{0, 0}));
  EXPECT_EQ(windows("gemma2", R"({"layer_types": null})"), (Widths{5, 0}));
  EXPECT_EQ(windows("gemma3_text", R"({"layer_types": null, "sliding_window_pattern": 2})"), (Widths{5, 0}));
  EXPECT_EQ(windows("gemma3_text", R"({"layer_types": null, "_sliding_window_pattern": null})"), (Widths{5, 5}));
  EXPECT_EQ(windows("gpt_oss", R"({"layer_types": null})"), (Widths{5, 0}));
  // To both sides, and the item itself.
  EXPECT_EQ(windows("modernbert", "{}"), (Widths{0, 9}));
  EXPECT_EQ(windows("modernbert", R"({"layer_types": null, "global_attn_every_n_layers": 2})"), (Widths{0, 9}));
  EXPECT_EQ(windows("qwen3_moe", R"({"use_sliding_window": true, "sliding_window": 7})"), (Widths{7, 7}));
}

// What describe() says that the heads of a model compute is what transformers computes: queries, keys and scores of
// real forward passes are recomputed from each checkpoint's description, within the rounding of float32. A wrong
// reading of names, layouts, scales, norms, rotations, windows or sinks fails here.

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
  // Both towers of a model of two have the same.
  return first_number(config,
                      {"norm_eps", "layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps", "text_config.rms_norm_eps",
                       "text_config.layer_norm_eps", gguf + "layer_norm_epsilon", gguf + "layer_norm_rms_epsilon"},
                      config.text("model_type") == "whisper" ? 1e-5 : 1e-12);  // its own, and DistilBERT's
}

/// The frequencies that the model uses for an input: of two lists the second beyond the context of pretraining.
std::size_t frequency_list(const Config& config, const HeadDescription& head, std::int64_t positions) {
  if (!head.rotary || head.rotary->frequencies.size() == 1) return 0;
  return static_cast<double>(positions) > first_number(config, {"original_max_position_embeddings"}, 0) ? 1 : 0;
}

/// Where transformers has a coordinate that a GGUF file has moved, so that a plane's two stand side by side.
std::int64_t coordinate(const HeadDescription& head, bool moved, std::int64_t described) {
  if (!moved || !head.rotary || head.rotary->layout == PlaneLayout::half_split) return described;
  const std::int64_t begin = head.turned_key ? head.query.outputs.count - head.rotary->width : 0;
  const std::int64_t place = described - begin;
  if (place < 0 || place >= head.rotary->width) return described;
  return begin + place / 2 + (place % 2) * (head.rotary->width / 2);
}

/// How many of the numbers lie outside their bounds.
int outside(const HeadDescription& head, bool moved, const Rows& described, const ObservedTensor& observed,
            std::int64_t among) {
  int count = 0;
  for (std::size_t i = 0; i < described.size(); ++i) {
    for (std::size_t j = 0; j < described[i].size(); ++j) {
      const double seen =
          observed.at(static_cast<std::int64_t>(i), among, coordinate(head, moved, static_cast<std::int64_t>(j)));
      if (!(std::abs(seen - described[i][j].value) <= described[i][j].error)) ++count;
    }
  }
  return count;
}

/// The scores of one query, and behind them the sink's, where there is one; less the largest then, as gpt-oss has them.
std::vector<Float32Bound> described_scores(const DescribedHead& attention, const HeadDescription& head,
                                           const Rows& queries, const Rows& keys, std::int64_t query, double farthest) {
  std::vector<Float32Bound> scores;
  double largest = -INFINITY, error = 0;
  for (std::size_t key = 0; key < keys.size(); ++key) {
    if (!attention.attends(query, static_cast<std::int64_t>(key))) {
      scores.push_back({-INFINITY, 0});
      continue;
    }
    const double added = attention.distance_bias(query, static_cast<std::int64_t>(key), farthest);
    scores.push_back(attention.score(queries[static_cast<std::size_t>(query)], keys[key]) + Float32Bound{added, 0});
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
                   const ObservedTensor& observed, double farthest) {
  int count = 0;
  for (std::int64_t query = 0; query < static_cast<std::int64_t>(queries.size()); ++query) {
    const std::vector<Float32Bound> scores = described_scores(attention, head, queries, keys, query, farthest);
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
  // transformers turns DeepSeek V3's neighbours and puts them half a head apart.
  const bool moved = checkpoint->format() == "gguf" || model.architecture == "deepseek_v3";
  ASSERT_EQ(static_cast<std::int64_t>(model.head_list.size()), model.heads_of_all_layers());
  const auto across = std::ranges::count_if(
      model.head_list, [](const HeadDescription& head) { return head.head == 0 && head.key_norm.has_value(); });
  const auto turned = std::ranges::count_if(
      model.head_list, [](const HeadDescription& head) { return head.head == 0 && head.turned_key.has_value(); });
  EXPECT_EQ(static_cast<std::int64_t>(observed.size()), 2 * (4 * model.layers + across + turned));
  const double farthest = first_number(checkpoint->config(), {"relative_attention_max_distance"}, 0);
  for (const HeadDescription& head : model.head_list) {
    for (const std::string input : {"0", "1"}) {
      SCOPED_TRACE("input " + input + " layer " + std::to_string(head.layer) + " head " + std::to_string(head.head));
      const std::string name = "input." + input + ".layers." + std::to_string(head.layer) + ".";
      const ObservedTensor& entered = observed.at(name + "input");
      const std::size_t list = frequency_list(checkpoint->config(), head, entered.shape[0]);
      const DescribedHead attention(*checkpoint, head, epsilon_of(checkpoint->config()), list);
      const Rows queries = attention.queries(entered);
      const ObservedTensor& of_keys = head.key_norm ? observed.at(name + "key_input") : entered;
      const Rows keys =
          head.turned_key ? attention.keys(of_keys, observed.at(name + "turned_input")) : attention.keys(of_keys);
      EXPECT_EQ(outside(head, moved, queries, observed.at(name + "query"), head.head), 0);
      EXPECT_EQ(outside(head, moved, keys, observed.at(name + "key"), head.key_head), 0);
      EXPECT_EQ(scores_outside(attention, head, queries, keys, observed.at(name + "scores"), farthest), 0);
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
