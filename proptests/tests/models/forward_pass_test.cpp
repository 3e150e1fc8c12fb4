// The forward pass of models/forward is that of transformers, run in f64: both lie within a rounding bound of numbers
// that a second evaluation has.
#include "models/forward/forward_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "models/forward/network.hpp"
#include "models/read/file_source.hpp"
#include "models/read/tensor_reader.hpp"
#include "proptests/tests/models/evaluated_forward.hpp"
#include "proptests/tests/models/forward_inputs.hpp"

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

/// Tensors (n, heads, head_dim) of a checkpoint's forward pass in f64, each as (n, hidden).
class RecordedPass {
 public:
  explicit RecordedPass(const std::string& checkpoint)
      : checkpoint_(checkpoint + "."),
        source_(open_file_source(checkpoint_folder(name_))),
        header_(read_safetensors_header(source_, name_, "F64")) {}

  Eigen::MatrixXd tensor(const std::string& name) const {
    for (const SafetensorsEntry& entry : header_.tensors) {
      if (entry.name != checkpoint_ + name) continue;
      const StoredTensor flat = {entry.name, entry.dtype, {entry.shape.at(0), entry.shape.at(1) * entry.shape.at(2)}};
      return read_tensor_block({source_, name_, header_.data_begin + entry.begin}, flat, {0, flat.rows()},
                               {0, flat.columns()})
          .values;
    }
    throw std::logic_error("no tensor " + name);
  }

 private:
  std::string name_ = "observed_f64.safetensors", checkpoint_;
  ByteSource source_;
  SafetensorsHeader header_;
};

class ForwardPassOf : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(ForwardPassOf, IsThatOfTransformers) {
  const auto checkpoint = open_checkpoint(GetParam());
  const RecordedPass recorded(GetParam().filename().string());
  const TokenIds inputs = recorded_ids(GetParam().filename().string());
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

}  // namespace
}  // namespace softcheck::models
