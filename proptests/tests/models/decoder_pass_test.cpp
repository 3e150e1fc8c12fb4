// The forward pass of decoders is that of transformers, run in f64: queries, keys, coefficients and logits lie within a
// rounding bound of numbers that a second evaluation has, and so do the logits that transformers computed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/forward/forward_pass.hpp"
#include "models/read/file_source.hpp"
#include "models/read/tensor_reader.hpp"
#include "proptests/tests/judge/tensor_file_writers.hpp"
#include "proptests/tests/models/evaluated_decoder.hpp"
#include "proptests/tests/models/forward_inputs.hpp"

namespace softcheck::models {
namespace {

using Eigen::Index;

/// The evaluation and what it is compared with are two computations, each within the bound of the exact number.
constexpr double both_computations = 2;

std::vector<std::string> decoders() {
  return {"gemma", "gemma2",  "gemma3", "gemma3_text", "gguf-llama", "gpt_oss", "gpt_oss_mxfp4",
          "llama", "mistral", "olmo2",  "phi3",        "qwen2",      "qwen3"};
}

std::unique_ptr<Checkpoint> open_decoder(const std::string& name) {
  const std::filesystem::path folder = checkpoint_folder(name);
  return open_checkpoint(name.starts_with("gguf-") ? folder / "model.gguf" : folder);
}

/// Mistral's checkpoint has no output, and no logits were recorded of it: a window of 5 in every layer.
const TokenIds mistral_inputs = {{7}, {3, 9, 14, 22, 5, 38, 17, 4, 11, 30, 8, 26}};

template <class At>
void expect_within(const char* what, const BoundRows& expected, At at) {
  int outside = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::size_t c = 0; c < expected[i].size(); ++c) {
      const double seen = at(static_cast<Index>(i), static_cast<Index>(c));
      if (!(std::abs(seen - expected[i][c].value) <= both_computations * expected[i][c].error)) ++outside;
    }
  }
  EXPECT_EQ(outside, 0) << what;
}

TokenIds inputs_of(const std::string& decoder) { return decoder == "mistral" ? mistral_inputs : recorded_ids(decoder); }

/// Of "NAME.input.0" or "NAME.input.1".
std::vector<double> recorded_logits(const std::string& input) {
  const std::filesystem::path path = checkpoint_folder("logits_f64.safetensors");
  const ByteSource source = open_file_source(path);
  const SafetensorsHeader header = read_safetensors_header(source, path.string(), "F64");
  for (const SafetensorsEntry& entry : header.tensors) {
    if (entry.name != input + ".logits") continue;
    const StoredTensor row = {entry.name, entry.dtype, entry.shape};
    const Eigen::MatrixXd values =
        read_tensor_block({source, path.string(), header.data_begin + entry.begin}, row, {0, 1}, {0, row.columns()})
            .values;
    return {values.data(), values.data() + values.size()};
  }
  throw std::logic_error("no tensor " + input);
}

class DecoderPassOf : public ::testing::TestWithParam<std::string> {};

TEST_P(DecoderPassOf, IsThatOfTransformers) {
  const auto checkpoint = open_decoder(GetParam());
  const ModelDescription model = describe(*checkpoint);
  const bool recorded = GetParam() != "mistral";
  const TokenIds inputs = inputs_of(GetParam());
  ASSERT_EQ(inputs.size(), 2U);
  const ForwardPass pass(*checkpoint, model, inputs, attention_kernel());
  std::vector<LayerAttention> layers;
  pass.run(model.layers - 1, [&](const LayerAttention& layer) {
    layers.push_back(layer);
    return true;
  });
  ASSERT_EQ(layers.size(), static_cast<std::size_t>(model.layers));
  if (!recorded) {
    EXPECT_THROW(pass.logits(), UnsupportedTensorFile);
  }
  const Eigen::MatrixXd logits = recorded ? pass.logits() : Eigen::MatrixXd();
  Index first = 0;
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    SCOPED_TRACE("input " + std::to_string(input));
    const EvaluatedDecoder expected = evaluated_decoder(*checkpoint, model, inputs[input]);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      SCOPED_TRACE("layer " + std::to_string(l));
      const LayerAttention& seen = layers[l];
      expect_within("query", expected.layers[l].query,
                    [&](Index token, Index c) { return seen.query(c, first + token); });
      expect_within("key", expected.layers[l].key, [&](Index token, Index c) { return seen.key(c, first + token); });
      for (std::size_t head = 0; head < expected.layers[l].coefficients.size(); ++head) {
        for (std::size_t i = 0; i < inputs[input].size(); ++i) {
          Float64Bound largest;
          for (const Float64Bound& p : expected.layers[l].coefficients[head][i]) {
            largest = {std::max(largest.value, p.value), std::max(largest.error, p.error)};
          }
          EXPECT_NEAR(seen.largest_coefficient(first + static_cast<Index>(i), static_cast<Index>(head)), largest.value,
                      both_computations * rounded(largest, 4).error);
        }
      }
    }
    if (recorded) {
      const std::vector<double> peer = recorded_logits(GetParam() + ".input." + std::to_string(input));
      expect_within("logits", {expected.logits},
                    [&](Index, Index word) { return logits(word, static_cast<Index>(input)); });
      expect_within("logits of transformers", {expected.logits},
                    [&](Index, Index word) { return peer.at(static_cast<std::size_t>(word)); });
    }
    first += static_cast<Index>(inputs[input].size());
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, DecoderPassOf, ::testing::ValuesIn(decoders()), [](const auto& name) {
  std::string text = name.param;
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
});

TEST(DecoderPass, RefusesTiedWordsThatDiffer) {
  const proptests::TensorFolder folder;
  const auto text = [](const std::string& name) {
    return read_text_file(checkpoint_folder("llama") / name, std::uint64_t{1} << 20);
  };
  auto config = nlohmann::json::parse(text("config.json"));
  config["tie_word_embeddings"] = true;
  folder.write("config.json", config.dump());
  const auto checkpoint = open_checkpoint(folder.write("model.safetensors", text("model.safetensors")));
  const ModelDescription model = describe(*checkpoint);
  try {
    ForwardPass(*checkpoint, model, {{3, 4}}, attention_kernel());
    FAIL() << "the embeddings serve as output";
  } catch (const TensorFileError& error) {
    EXPECT_NE(std::string(error.what()).find("lm_head.weight differs from model.embed_tokens.weight"),
              std::string::npos)
        << error.what();
  }
}

TEST(DecoderPass, SinksAreAmongTheCoefficients) {
  const auto checkpoint = open_decoder("gpt_oss");
  const ModelDescription model = describe(*checkpoint);
  const ForwardPass pass(*checkpoint, model, {{5}}, attention_kernel());
  pass.run(0, [&](const LayerAttention& layer) {
    for (Index head = 0; head < model.heads; ++head) {
      // One item and the sink: two coefficients.
      const double p = layer.largest_coefficient(0, head);
      EXPECT_LT(p, 1);
      const double expected = -p * std::log(p) - (1 - p) * std::log1p(-p);
      EXPECT_NEAR(layer.entropy(0, head), expected, 64 * std::numeric_limits<double>::epsilon());
    }
    return true;
  });
}

/// A file of `./run models`, ids, and logits behind them.
struct RealModel {
  const char* file;
  std::vector<std::int64_t> ids;
  std::vector<std::pair<Index, double>> logits;
};

// By another reading of the file and another forward pass, in f64 with torch, to nine digits.
const std::vector<RealModel> real_models = {
    {"gemma-3-270m-q4_k_m.gguf",
     {2, 818, 5279, 529, 7001, 563},
     {{506, 19.0914600},
      {496, 18.5475977},
      {9079, 18.2686185},
      {0, -19.2801248},
      {1000, 2.14381997},
      {40000, -7.52438708}}},
    {"gemma-3-270m-q4_k_m.gguf",
     {2, 2063, 1689, 236769, 18569, 1473, 107, 140, 2060, 236743, 236812, 236778, 108, 584, 5062, 1201, 1269, 1251},
     {{29802, 18.2679519}, {32204, 18.0463433}, {623, 11.5949167}, {0, -33.6118846}, {10000, -17.2986849}}},
    {"SmolLM2-135M-Instruct.Q4_1.gguf",
     {504, 3575, 282, 4649, 314},
     {{7042, 17.3712592}, {260, 14.8885887}, {4528, 13.2449736}, {0, 1.61363907}, {40000, -2.33832491}}},
    {"SmolLM2-135M-Instruct.Q4_1.gguf",
     {1604, 1085, 24, 15546, 727, 472, 1003, 216, 36, 34, 198, 198, 342, 2758, 1245, 890, 1758},
     {{17892, 28.967221}, {14209, 27.8904682}, {476, 22.923408}, {1, -3.67666541}, {40000, -0.328174094}}}};

// Labelled full: DecoderPass.RealModelsHaveTheLogitsOfAnotherImplementation
TEST(DecoderPass, RealModelsHaveTheLogitsOfAnotherImplementation) {
  int seen = 0;
  for (const RealModel& real : real_models) {
    const std::filesystem::path path = std::filesystem::path(SOFTCHECK_SOURCE_DIR "/build/models") / real.file;
    if (!std::filesystem::exists(path)) continue;
    ++seen;
    const auto checkpoint = open_checkpoint(path);
    const ModelDescription model = describe(*checkpoint);
    const Eigen::MatrixXd logits = ForwardPass(*checkpoint, model, {real.ids}, attention_kernel(), 2).logits();
    for (const auto& [id, expected] : real.logits) {
      // One of the ninth digit: half of it is the printing's, the roundings of both passes are far below the other
      // half.
      const double digit = std::pow(10, std::floor(std::log10(std::abs(expected))) - 8);
      EXPECT_NEAR(logits(id, 0), expected, digit) << real.file << " " << id;
    }
    // The list's first logit is the largest. predicted() adds blocks of the vocabulary up: at most 2^18 roundings.
    TokenIds longer = {real.ids};
    longer[0].push_back(real.logits.front().first);
    const PredictedToken next = ForwardPass(*checkpoint, model, longer, attention_kernel(), 2)
                                    .predicted({static_cast<Index>(real.ids.size())})[0];
    EXPECT_TRUE(next.most_probable);
    EXPECT_NEAR(next.log_probability, -std::log((logits.col(0).array() - logits.maxCoeff()).exp().sum()), 0x1p-33)
        << real.file;
  }
  if (seen == 0) GTEST_SKIP() << "build/models has neither model (./run models gemma smollm2)";
}

}  // namespace
}  // namespace softcheck::models
