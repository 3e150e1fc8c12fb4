// The forward pass of models/forward is that of transformers, run in f64: both lie within a rounding bound of numbers
// that a second evaluation has.
#include "models/forward/forward_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/forward/network.hpp"
#include "models/read/file_source.hpp"
#include "models/read/tensor_reader.hpp"
#include "proptests/tests/models/evaluated_decoder.hpp"
#include "proptests/tests/models/evaluated_forward.hpp"
#include "proptests/tests/models/observed_heads.hpp"

namespace softcheck::models {
namespace {

using Eigen::Index;

/// The evaluation and what it is compared with are two computations, each within the bound of the exact number.
constexpr double computations = 2;

std::vector<std::filesystem::path> forward_folders() {
  std::vector<std::filesystem::path> folders;
  for (const char* name : {"bert", "distilbert", "gpt2", "roberta", "xlm-roberta"}) {
    folders.push_back(checkpoint_folder(name));
  }
  return folders;
}

std::vector<LayerAttention> layers_of(const Checkpoint& checkpoint, const TokenIds& inputs, unsigned threads = 1) {
  const ModelDescription model = describe(checkpoint);
  std::vector<LayerAttention> layers;
  ForwardPass(checkpoint, model, inputs, attention_kernel(), threads)
      .run(model.layers - 1, [&](const LayerAttention& layer) {
        layers.push_back(layer);
        return true;
      });
  return layers;
}

/// How many of (tokens, hidden) numbers lie too far from the evaluation's.
template <class At>
int outside(const BoundRows& expected, At at) {
  int count = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::size_t c = 0; c < expected[i].size(); ++c) {
      const double seen = at(static_cast<Index>(i), static_cast<Index>(c));
      if (!(std::abs(seen - expected[i][c].value) <= computations * expected[i][c].error)) ++count;
    }
  }
  return count;
}

/// The entropy of coefficients, and how far it moves where each moves by its error: a term p ln p by |1 + ln p| of it,
/// twice that for the second order and the kernel's own sums ln S + T / S, whose roundings are among those of p.
Float64Bound entropy_of(const BoundRow& coefficients) {
  Float64Bound entropy;
  for (const Float64Bound& p : coefficients) {
    if (p.value == 0) continue;
    entropy.value -= p.value * std::log(p.value);
    entropy.error += 2 * p.error * (1 + std::abs(std::log(p.value)));
  }
  return entropy;
}

Float64Bound largest_of(const BoundRow& coefficients) {
  Float64Bound largest;
  for (const Float64Bound& p : coefficients) {
    largest = {std::max(largest.value, p.value), std::max(largest.error, p.error)};
  }
  // e^(m - lse) of scores around m: their difference is rounded once in lse and once behind it, 2 u |m| where p was
  // granted three roundings of each score.
  return rounded(largest, 4);
}

void expect_numbers_of_rows(const EvaluatedLayer& expected, const LayerAttention& seen, Index first) {
  for (std::size_t head = 0; head < expected.coefficients.size(); ++head) {
    for (std::size_t i = 0; i < expected.coefficients[head].size(); ++i) {
      SCOPED_TRACE("head " + std::to_string(head) + " query " + std::to_string(i));
      const BoundRow& row = expected.coefficients[head][i];
      const Index token = first + static_cast<Index>(i), column = static_cast<Index>(head);
      const Float64Bound entropy = entropy_of(row), largest = largest_of(row);
      EXPECT_NEAR(seen.entropy(token, column), entropy.value, computations * entropy.error);
      EXPECT_NEAR(seen.largest_coefficient(token, column), largest.value, computations * largest.error);
    }
  }
}

/// Tensors (n, heads, head_dim) of a forward pass in f64, each as (n, hidden).
class RecordedPass {
 public:
  explicit RecordedPass(const std::filesystem::path& path)
      : name_(path.string()),
        source_(open_file_source(path)),
        header_(read_safetensors_header(source_, name_, "F64")) {}

  Eigen::MatrixXd tensor(const std::string& name) const {
    for (const SafetensorsEntry& entry : header_.tensors) {
      if (entry.name != name) continue;
      const StoredTensor flat = {name, entry.dtype, {entry.shape.at(0), entry.shape.at(1) * entry.shape.at(2)}};
      return read_tensor_block({source_, name_, header_.data_begin + entry.begin}, flat, {0, flat.rows()},
                               {0, flat.columns()})
          .values;
    }
    throw std::logic_error("no tensor " + name);
  }

 private:
  std::string name_;
  ByteSource source_;
  SafetensorsHeader header_;
};

class ForwardPassOf : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(ForwardPassOf, IsThatOfTransformers) {
  const auto checkpoint = open_checkpoint(GetParam());
  const RecordedPass recorded(GetParam() / "observed_f64.safetensors");
  const TokenIds inputs = read_token_ids(GetParam() / "tokens.jsonl");
  ASSERT_EQ(inputs.size(), 2U);
  const std::vector<LayerAttention> layers = layers_of(*checkpoint, inputs);
  Index first = 0;
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    const std::vector<EvaluatedLayer> expected = evaluated_forward(*checkpoint, inputs[input]);
    ASSERT_EQ(expected.size(), layers.size());
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const std::string name = "input." + std::to_string(input) + ".layers." + std::to_string(l) + ".";
      SCOPED_TRACE(name);
      const Eigen::MatrixXd query = recorded.tensor(name + "query"), key = recorded.tensor(name + "key");
      const auto of_record = [](const Eigen::MatrixXd& tensor) {
        return [&tensor](Index token, Index c) { return tensor(token, c); };
      };
      const auto of_pass = [first](const Eigen::MatrixXd& numbers) {
        return [&numbers, first](Index token, Index c) { return numbers(c, first + token); };
      };
      EXPECT_EQ(outside(expected[l].query, of_record(query)), 0);
      EXPECT_EQ(outside(expected[l].key, of_record(key)), 0);
      EXPECT_EQ(outside(expected[l].query, of_pass(layers[l].query)), 0);
      EXPECT_EQ(outside(expected[l].key, of_pass(layers[l].key)), 0);
      expect_numbers_of_rows(expected[l], layers[l], first);
    }
    first += static_cast<Index>(inputs[input].size());
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, ForwardPassOf, ::testing::ValuesIn(forward_folders()), [](const auto& folder) {
  std::string name = folder.param.filename().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(ForwardPass, CountsNoPositionForPadding) {
  const auto checkpoint = open_checkpoint(checkpoint_folder("roberta"));
  const std::vector<std::int64_t> ids = {5, 1, 7, 1, 1, 9};  // 1 is its padding
  const std::vector<EvaluatedLayer> expected = evaluated_forward(*checkpoint, ids);
  const LayerAttention first = layers_of(*checkpoint, {ids}).at(0);
  EXPECT_EQ(outside(expected[0].query, [&](Index token, Index c) { return first.query(c, token); }), 0);
}

TEST(ForwardPass, HasTheSameBitsOnAnyThreads) {
  const auto checkpoint = open_checkpoint(checkpoint_folder("gpt2"));
  TokenIds inputs;
  for (std::int64_t length = 1; length <= 40; ++length) {
    std::vector<std::int64_t>& ids = inputs.emplace_back();
    for (std::int64_t i = 0; i < length; ++i) ids.push_back((7 * i + 3 * length) % 40);
  }
  const std::vector<LayerAttention> one = layers_of(*checkpoint, inputs, 1), three = layers_of(*checkpoint, inputs, 3);
  for (std::size_t l = 0; l < one.size(); ++l) {
    EXPECT_EQ(one[l].query, three[l].query);
    EXPECT_EQ(one[l].key, three[l].key);
    EXPECT_EQ(one[l].entropy, three[l].entropy);
    EXPECT_EQ(one[l].largest_coefficient, three[l].largest_coefficient);
  }
}

TEST(ForwardPass, ActivationsAreThoseOfTransformers) {
  const std::map<std::string, std::string> names = {{"gelu", "gelu"},         {"gelu_python", "gelu"},
                                                    {"gelu_new", "gelu_new"}, {"gelu_pytorch_tanh", "gelu_new"},
                                                    {"relu", "relu"},         {"silu", "silu"}};
  for (const auto& [name, formula] : names) {
    for (double x = -40; x <= 40; x += 0.03125) {
      const Float64Bound expected = evaluated_activation(formula, {x, 0});
      // 16 roundings of |x| are granted to each.
      EXPECT_NEAR(activate(activation_named(name).value(), x), expected.value, computations * expected.error)
          << name << " of " << x;
    }
  }
}

// The forward pass of decoders is that of transformers, run in f64: queries, keys, coefficients and logits lie within a
// rounding bound of numbers that a second evaluation has, and so do the logits that transformers computed.

/// The evaluation and what it is compared with are two computations, each within the bound of the exact number.
constexpr double both_computations = 2;

std::vector<std::string> decoders() {
  return {"gemma",   "gemma2", "gemma3", "gemma3_text", "gguf-llama", "llama",
          "mistral", "olmo2",  "phi3",   "qwen2",       "qwen3"};
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

std::vector<double> recorded_logits(const std::filesystem::path& path, const std::string& input) {
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
  const std::filesystem::path folder = checkpoint_folder(GetParam());
  const bool recorded = GetParam() != "mistral";
  const TokenIds inputs = recorded ? read_token_ids(folder / "tokens.jsonl") : mistral_inputs;
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
      const std::vector<double> peer =
          recorded_logits(folder / "logits_f64.safetensors", "input." + std::to_string(input));
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
  }
  if (seen == 0) GTEST_SKIP() << "build/models has neither model (./run models gemma smollm2)";
}

}  // namespace
}  // namespace softcheck::models
