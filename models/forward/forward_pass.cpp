#include "models/forward/forward_pass.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "models/forward/attention_call.hpp"
#include "models/forward/network.hpp"

namespace softcheck::models {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index most_tokens = 65536;
// Tokens of one product: a block's numbers do not depend on the threads, and its columns hide the packing of W.
constexpr Index product_columns = 128;

// W as its rows stand for outputs, or its columns where it is stored the other way round.
MatrixXd stored_weights(const Checkpoint& checkpoint, const MatrixPlace& place, std::int64_t inputs) {
  const StoredTensor& tensor = *checkpoint.find(place.tensor);
  return place.transposed ? checkpoint.read(tensor, {0, inputs}, place.outputs).values
                          : checkpoint.read(tensor, place.outputs, {0, inputs}).values;
}

// Positions of an input's tokens in the table of positions.
std::vector<std::int64_t> positions_of(const std::vector<std::int64_t>& ids, const Embeddings& embeddings) {
  std::vector<std::int64_t> positions;
  std::int64_t next = embeddings.padding ? *embeddings.padding + 1 : 0;
  for (const std::int64_t id : ids) positions.push_back(embeddings.padding == id ? id : next++);
  return positions;
}

void require_finite(const MatrixXd& numbers, std::int64_t layer) {
  if (numbers.allFinite()) return;
  throw std::range_error("on these tokens layer " + std::to_string(layer) + " leaves the range of double");
}

}  // namespace

ForwardPass::ForwardPass(const Checkpoint& checkpoint, const ModelDescription& model, TokenIds inputs,
                         softcheck_kernel kernel, unsigned threads)
    : checkpoint_(checkpoint),
      hidden_(model.hidden),
      heads_(model.heads),
      head_dim_(model.head_dim),
      network_(describe_network(checkpoint, model)),
      ids_(std::move(inputs)),
      kernel_(kernel),
      threads_(threads) {
  for (const std::vector<std::int64_t>& ids : ids_) {
    const auto count = static_cast<Index>(ids.size());
    const std::string input = "tokens: input " + std::to_string(ranges_.size() + 1) + ": need ";
    if (count > model.context) {
      throw TensorFileError(input + "at most " + std::to_string(model.context) +
                            " ids, which is the model's context, got " + std::to_string(count));
    }
    for (const std::int64_t id : ids) {
      if (id >= 0 && id < network_.embeddings.vocabulary) continue;
      throw TensorFileError(input + "ids of 0-" + std::to_string(network_.embeddings.vocabulary - 1) +
                            ", which is the model's vocabulary, got " + std::to_string(id));
    }
    ranges_.push_back({tokens_, count});
    tokens_ += count;
  }
  if (tokens_ > most_tokens) {
    throw UnsupportedTensorFile("tokens: need at most " + std::to_string(most_tokens) + " ids in all, got " +
                                std::to_string(tokens_));
  }
}

void ForwardPass::run(std::int64_t last, const std::function<bool(const LayerAttention& layer)>& seen) const {
  MatrixXd x = embedded();
  for (std::int64_t layer = 0; layer <= last; ++layer) {
    const Block& block = network_.blocks.at(static_cast<std::size_t>(layer));
    MatrixXd z = normed(*block.attention.input_norm, x);
    LayerAttention attention = {.layer = layer, .query = projected(block.query, z), .key = projected(block.key, z)};
    const MatrixXd heads = attended(block, projected(block.value, z), attention);
    require_finite(heads, layer);
    if (!seen(attention) || layer == last) return;
    if (network_.residual_is_normed) x = std::move(z);
    x += projected(block.output, heads);
    z = normed(block.middle_norm, x);
    MatrixXd inner = projected(block.up, z);
    in_parallel(static_cast<std::size_t>(inner.cols()), threads_, [&](std::size_t token) {
      for (double& value : inner.col(static_cast<Index>(token))) value = activate(network_.activation, value);
    });
    if (network_.residual_is_normed) x = std::move(z);
    x += projected(block.down, inner);
  }
}

MatrixXd ForwardPass::embedded() const {
  const Embeddings& places = network_.embeddings;
  const auto row = [&](const std::string& tensor, std::int64_t index) {
    return VectorXd(checkpoint_.read(*checkpoint_.find(tensor), {index, 1}, {0, hidden_}).values.transpose());
  };
  VectorXd shared = VectorXd::Zero(hidden_);
  if (!places.types.empty()) shared = row(places.types, 0);
  MatrixXd x(hidden_, tokens_);
  for (std::size_t input = 0; input < ids_.size(); ++input) {
    const std::vector<std::int64_t> positions = positions_of(ids_[input], places);
    for (std::size_t i = 0; i < positions.size(); ++i) {
      x.col(ranges_[input].first + static_cast<Index>(i)) =
          row(places.words, ids_[input][i]) + row(places.positions, positions[i]) + shared;
    }
  }
  return x;
}

MatrixXd ForwardPass::normed(const InputNorm& norm, const MatrixXd& x) const {
  const VectorXd gain = vector(norm.gain), offset = vector(norm.offset);
  MatrixXd result(x.rows(), x.cols());
  for (Index token = 0; token < x.cols(); ++token) {
    const VectorXd centred = x.col(token).array() - x.col(token).mean();
    const double deviation = std::sqrt(centred.squaredNorm() / static_cast<double>(x.rows()) + network_.epsilon);
    result.col(token) = (centred / deviation).cwiseProduct(gain) + offset;
  }
  return result;
}

MatrixXd ForwardPass::projected(const Linear& linear, const MatrixXd& x) const {
  const MatrixXd weights = stored_weights(checkpoint_, linear.weights, x.rows());
  const VectorXd bias = vector(linear.bias);
  MatrixXd result(bias.size(), x.cols());
  const auto blocks = static_cast<std::size_t>((x.cols() + product_columns - 1) / product_columns);
  in_parallel(blocks, threads_, [&](std::size_t block) {
    const Index first = static_cast<Index>(block) * product_columns;
    const Index count = std::min(product_columns, x.cols() - first);
    auto part = result.middleCols(first, count);
    if (linear.weights.transposed) {
      part.noalias() = weights.transpose() * x.middleCols(first, count);
    } else {
      part.noalias() = weights * x.middleCols(first, count);
    }
    part.colwise() += bias;
  });
  return result;
}

MatrixXd ForwardPass::attended(const Block& block, const MatrixXd& value, LayerAttention& layer) const {
  MatrixXd output(hidden_, tokens_), log_sum(tokens_, heads_), largest_score(tokens_, heads_);
  layer.entropy.resize(tokens_, heads_);
  const auto heads = static_cast<std::size_t>(heads_);
  in_parallel(ranges_.size() * heads, threads_, [&](std::size_t task) {
    const TokenRange& range = ranges_[task / heads];
    call_attention(kernel_, {.query = layer.query,
                             .key = layer.key,
                             .value = value,
                             .output = output,
                             .entropy = layer.entropy,
                             .log_sum = log_sum,
                             .largest_score = largest_score,
                             .first_token = range.first,
                             .tokens = range.count,
                             .head = static_cast<Index>(task % heads),
                             .head_dim = head_dim_,
                             .scale = block.attention.scale.midpoint(),
                             .causal = block.attention.causal});
  });
  layer.largest_coefficient = (largest_score - log_sum).array().exp();
  return output;
}

VectorXd ForwardPass::vector(const VectorPlace& place) const {
  return checkpoint_.read(*checkpoint_.find(place.tensor), {0, 1}, place.entries).values.transpose();
}

}  // namespace softcheck::models
