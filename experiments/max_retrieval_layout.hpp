#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace softcheck::experiments {

/// The paper's max-retrieval network (Appendix A): an item is its priority and the one-hot of its class.
inline constexpr int class_count = 10;
inline constexpr int item_features = 1 + class_count;
inline constexpr int width = 128;

/// The function from a set's logits x_1 ... x_n to coefficients: softmax, or one against its dispersion. Their words
/// are head_words, in the same order.
enum class HeadKind {
  softmax,
  log_n,      // softmax of x ln n / ln(log_n_reference) (Chiang & Cholak 2022; scalable softmax, arXiv 2501.19399)
  top_k,      // softmax of the top_k largest
  sink,       // softmax with one more item of logit 0 and value 0
  sigmoid,    // 1 / (1 + log_n_reference e^-x), a fixed bias of -ln(log_n_reference)
  sparsemax,  // the nearest point of the simplex
  entmax,     // entmax-1.5
  softpick    // relu(e^x - 1) / sum |e^x - 1|
};
inline constexpr std::array<std::string_view, 8> head_words{"softmax", "log-n",     "top-k",  "sink",
                                                            "sigmoid", "sparsemax", "entmax", "softpick"};
inline constexpr int top_k = 8;
inline constexpr int log_n_reference = 16;  // the largest set of the paper's training

/// Whether adding a constant to all logits changes the coefficients: then b_K . q' counts.
constexpr bool sees_offset(HeadKind kind) {
  return kind == HeadKind::sink || kind == HeadKind::sigmoid || kind == HeadKind::softpick;
}

/// A dense layer in the flat array of all parameters: weights (outputs, inputs) row-major, then biases (outputs).
struct LayerPlace {
  std::string_view name;  // of its tensors, NAME.weight and NAME.bias
  int inputs = 0;
  int outputs = 0;
  std::size_t weights = 0;  // where they begin
  constexpr std::size_t biases() const {
    return weights + static_cast<std::size_t>(inputs) * static_cast<std::size_t>(outputs);
  }
  constexpr std::size_t end() const { return biases() + static_cast<std::size_t>(outputs); }
};

enum class Layer {
  item_1,
  item_2,
  query_1,
  query_2,
  attention_query,
  attention_key,
  attention_value,
  attention_output,
  head_1,
  head_2
};

inline constexpr int layer_count = static_cast<int>(Layer::head_2) + 1;

inline constexpr std::array<LayerPlace, layer_count> layers = [] {
  std::array<LayerPlace, layer_count> result{{
      {"item_1", item_features, width},
      {"item_2", width, width},
      {"query_1", 1, width},
      {"query_2", width, width},
      {"attention_query", width, width},
      {"attention_key", width, width},
      {"attention_value", width, width},
      {"attention_output", width, width},
      {"head_1", width, width},
      {"head_2", width, class_count},
  }};
  std::size_t next = 0;
  for (LayerPlace& layer : result) {
    layer.weights = next;
    next = layer.end();
  }
  return result;
}();

constexpr const LayerPlace& place_of(Layer layer) { return layers[static_cast<std::size_t>(layer)]; }

inline constexpr std::size_t parameter_count = layers.back().end();
static_assert(parameter_count == 118'666, "the paper's model has 118,666 parameters");

}  // namespace softcheck::experiments
