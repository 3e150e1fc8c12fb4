#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"
#include "theory/scalar.hpp"
#include "theory/vectors.hpp"

namespace softcheck::theory {

/// Which items a token attends to: paper eq. (4), BERT: all of them; eq. (5), GPT: itself and those before it.
enum class AttentionMask { bert, gpt };

enum class Activation { relu, tanh, gelu };

/// One softmax attention head, paper eqs. (2)-(3), its output projection folded into the values.
struct AttentionHead {
  Eigen::MatrixXd query, key;  // (head width, width)
  Eigen::MatrixXd value;       // (width, width)
};

/// x -> outer activation(inner x + inner_bias) + outer_bias
struct FeedForward {
  Eigen::MatrixXd inner;       // (hidden, width)
  Eigen::VectorXd inner_bias;  // (hidden)
  Eigen::MatrixXd outer;       // (width, hidden)
  Eigen::VectorXd outer_bias;  // (width)
};

struct TransformerLayer {
  std::vector<AttentionHead> heads;  // their outputs are added
  std::optional<FeedForward> feedforward;
};

/// What a small Transformer is drawn from.
struct SmallTransformerShape {
  std::uint64_t seed = 0;
  int vocabulary = 2;  // symbols, each with its own embedding
  int width = 2;
  int heads = 1;
  int depth = 1;  // layers, each attention and then, where feedforward is set, an MLP of hidden width 2 width
  AttentionMask mask = AttentionMask::bert;
  bool residual = true;
  bool feedforward = true;
  Activation activation = Activation::gelu;
  double theta = 1;         // temperature of every head
  double weight_scale = 1;  // multiplies every weight and bias, not the embeddings
};

/// A Transformer over a finite vocabulary, without positions: the network of Theorem 2.2 and Remarks B.2 and C.1. Its
/// weights are doubles; it is evaluated in any Scalar, on an Enclosure rigorously.
struct SmallTransformer {
  SmallTransformerShape shape;
  Eigen::MatrixXd embeddings;  // (vocabulary, width), rows pairwise different
  std::vector<TransformerLayer> layers;
};

/// Weights and embeddings k/16, k odd in [-15, 15], from the standard engine mt19937_64: short dyadic numbers, none 0;
/// the values of head h = 0, 1, ... k/16 + h/64.
///
/// throws   std::invalid_argument when a size is below 1, the vocabulary exceeds 16, theta or weight_scale is not
///          positive and finite
SmallTransformer small_transformer(const SmallTransformerShape& shape);

/// count equal tokens in a row.
struct Run {
  int symbol = 0;
  double count = 1;  // a positive whole number: 2^900 tokens are as good as 3
};

/// The runs in the form that forward() evaluates exactly: tokens with equal activations in every layer are one group
/// with a count. BERT: one group for each symbol. GPT: the first run is one group, whatever its length (each of its
/// tokens attends only to equal tokens); the later tokens see different prefixes, and each is its own group.
///
/// runs     not empty; GPT: at most 4096 tokens after the first run
/// throws   std::invalid_argument on an unknown symbol or a count that is not a positive whole number
std::vector<Run> token_groups(const SmallTransformer& model, const std::vector<Run>& runs);

/// "{seed 0x1, ...} b*3 a*1": which network and which tokens.
std::string describe(const SmallTransformer& model, const std::vector<Run>& runs);

/// Near x: to choose a reference, never to decide.
template <Scalar T>
double approximate(const T& x) {
  if constexpr (std::is_same_v<T, numerics::Enclosure>) {
    return x.midpoint();
  } else {
    return static_cast<double>(x);
  }
}

/// The tanh form of GELU: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), Appendix A.
template <Scalar T>
T gelu(const T& x) {
  T pi = T(std::numbers::pi);
  if constexpr (std::is_same_v<T, numerics::Enclosure>) pi = numerics::Enclosure::pi();
  const T cubic = ratio<T>(44715, 1000000);
  return x / T(2) * (T(1) + tanh(sqrt(T(2) / pi) * x * (T(1) + cubic * (x * x))));
}

/// On an interval: an interval extension of the activation.
template <Scalar T>
T activate(Activation activation, const T& x) {
  switch (activation) {
    case Activation::relu:
      return maximum(x, T(0));
    case Activation::tanh:
      return tanh(x);
    case Activation::gelu:
      return gelu(x);
  }
  return x;
}

/// max |x_c|
template <Scalar T>
T largest_entry(const std::vector<T>& x) {
  T largest = T(0);
  for (const T& entry : x) largest = maximum(largest, maximum(entry, -entry));
  return largest;
}

/// The MLP of a layer, residual included where the network has one; the identity in a layer without an MLP.
template <Scalar T>
std::vector<T> apply_feedforward(const SmallTransformer& model, const TransformerLayer& layer,
                                 const std::vector<T>& x) {
  if (!layer.feedforward) return x;
  const FeedForward& mlp = *layer.feedforward;
  std::vector<T> hidden = add(multiply(mlp.inner, x), as_scalars<T>(mlp.inner_bias));
  for (T& unit : hidden) unit = activate(model.shape.activation, unit);
  std::vector<T> result = add(multiply(mlp.outer, hidden), as_scalars<T>(mlp.outer_bias));
  return model.shape.residual ? add(std::move(result), x) : result;
}

/// Queries, keys and values of every group of tokens in one head.
template <Scalar T>
struct HeadProjection {
  std::vector<std::vector<T>> queries, keys, values;
};

template <Scalar T>
HeadProjection<T> project(const AttentionHead& head, const std::vector<std::vector<T>>& tokens) {
  HeadProjection<T> result;
  for (const std::vector<T>& token : tokens) {
    result.queries.push_back(multiply(head.query, token));
    result.keys.push_back(multiply(head.key, token));
    result.values.push_back(multiply(head.value, token));
  }
  return result;
}

/// One row of attention over groups of tokens.
template <Scalar T>
struct AttentionRow {
  std::vector<T> logits;   // e_j of each visible group, paper eq. (2)
  std::vector<T> weights;  // exp((e_j - e_reference) / theta), exactly 1 at the reference
  std::size_t reference = 0;
  T sum = T(0);     // over all visible tokens: sum_j count_j weights_j
  T length = T(0);  // number of visible tokens

  /// Coefficient of one token of group j, paper eq. (1).
  T coefficient(std::size_t j) const { return weights[j] / sum; }
};

template <Scalar T>
AttentionRow<T> attention_row(const HeadProjection<T>& head, const std::vector<T>& counts, std::size_t query,
                              AttentionMask mask, const T& theta) {
  AttentionRow<T> row;
  const std::size_t visible = mask == AttentionMask::bert ? counts.size() : query + 1;
  for (std::size_t j = 0; j < visible; ++j) {
    row.logits.push_back(dot(head.queries[query], head.keys[j]));
    if (approximate(row.logits[j]) > approximate(row.logits[row.reference])) row.reference = j;
  }
  for (std::size_t j = 0; j < visible; ++j) {
    // Written out at the reference, so that a row of one group has the coefficient 1/count without any rounding.
    row.weights.push_back(j == row.reference ? T(1) : exp((row.logits[j] - row.logits[row.reference]) / theta));
    row.sum += counts[j] * row.weights[j];
    row.length += counts[j];
  }
  return row;
}

/// sum_j alpha_j v_j = v_r + sum_j alpha_j (v_j - v_r): exactly v_r where all tokens are one group.
template <Scalar T>
std::vector<T> attend(const HeadProjection<T>& head, const std::vector<T>& counts, const AttentionRow<T>& row) {
  std::vector<T> output = head.values[row.reference];
  for (std::size_t j = 0; j < row.weights.size(); ++j) {
    if (j == row.reference) continue;
    const T share = counts[j] * row.coefficient(j);
    for (std::size_t c = 0; c < output.size(); ++c) {
      output[c] += share * (head.values[j][c] - head.values[row.reference][c]);
    }
  }
  return output;
}

/// One layer: attention, residual and MLP, on the activations of every group.
template <Scalar T>
std::vector<std::vector<T>> apply_layer(const SmallTransformer& model, const TransformerLayer& layer,
                                        const std::vector<std::vector<T>>& tokens, const std::vector<T>& counts) {
  std::vector<std::vector<T>> outputs = tokens;
  if (!model.shape.residual) {
    for (std::vector<T>& output : outputs) output.assign(output.size(), T(0));
  }
  for (const AttentionHead& head : layer.heads) {
    const HeadProjection<T> projection = project(head, tokens);
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const AttentionRow<T> row = attention_row(projection, counts, i, model.shape.mask, T(model.shape.theta));
      outputs[i] = add(std::move(outputs[i]), attend(projection, counts, row));
    }
  }
  for (std::vector<T>& output : outputs) output = apply_feedforward(model, layer, output);
  return outputs;
}

/// Activations of every group of tokens at the input of every layer, and after the last.
template <Scalar T>
struct ForwardTrace {
  std::vector<T> counts;                            // (groups)
  std::vector<std::vector<std::vector<T>>> inputs;  // (layers + 1, groups, width)
};

/// The whole network on the groups that token_groups() returned.
template <Scalar T>
ForwardTrace<T> forward(const SmallTransformer& model, const std::vector<Run>& groups) {
  ForwardTrace<T> trace;
  trace.inputs.emplace_back();
  for (const Run& group : groups) {
    trace.counts.push_back(T(group.count));
    trace.inputs.back().push_back(as_scalars<T>(model.embeddings.row(group.symbol).transpose()));
  }
  for (const TransformerLayer& layer : model.layers) {
    trace.inputs.push_back(apply_layer(model, layer, trace.inputs.back(), trace.counts));
  }
  return trace;
}

}  // namespace softcheck::theory
