#include "models/forward/forward_pass.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "models/forward/attention_call.hpp"
#include "models/forward/head_rows.hpp"
#include "models/forward/network.hpp"
#include "models/forward/product.hpp"
#include "models/read/file_errors.hpp"

namespace softcheck::models {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr Index most_tokens = 65536;
// Tokens of one product: a block's numbers do not depend on the threads, and its columns hide the packing of W.
constexpr Index product_columns = 128;
// Of the vocabulary's matrix at a time.
constexpr Index vocabulary_rows = 4096;

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
    : ForwardPass(checkpoint, model, std::move(inputs),
                  std::vector<Weighing>(static_cast<std::size_t>(model.layers), Weighing{.kernel = kernel}), threads) {}

ForwardPass::ForwardPass(const Checkpoint& checkpoint, const ModelDescription& model, TokenIds inputs,
                         std::vector<Weighing> weighing, unsigned threads)
    : checkpoint_(checkpoint),
      hidden_(model.hidden),
      heads_(model.heads),
      key_heads_(model.key_heads),
      head_dim_(model.head_dim),
      network_(describe_network(checkpoint, model)),
      ids_(std::move(inputs)),
      weighing_(std::move(weighing)),
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
  states(last, false, seen);
}

MatrixXd ForwardPass::logits() const {
  std::vector<Index> columns;
  for (const TokenRange& range : ranges_) columns.push_back(range.first + range.count - 1);
  MatrixXd result(network_.embeddings.vocabulary, static_cast<Index>(columns.size()));
  each_logits(last_states(columns),
              [&](Index first, const MatrixXd& block) { result.middleRows(first, block.rows()) = block; });
  return result;
}

std::vector<PredictedToken> ForwardPass::predicted(const std::vector<Index>& columns) const {
  std::vector<Index> before;
  std::vector<Index> wanted;  // ids
  for (const Index column : columns) {
    const auto range = std::ranges::find_if(ranges_, [&](const TokenRange& r) { return column < r.first + r.count; });
    if (range == ranges_.end() || column <= range->first) {
      throw std::invalid_argument("predicted: need columns of tokens with another before them, got " +
                                  std::to_string(column));
    }
    before.push_back(column - 1);
    wanted.push_back(
        ids_[static_cast<std::size_t>(range - ranges_.begin())][static_cast<std::size_t>(column - range->first)]);
  }
  const auto count = static_cast<Index>(columns.size());
  // The sum of the exponentials of all logits so far, less its largest one.
  Eigen::ArrayXd largest = Eigen::ArrayXd::Constant(count, -INFINITY), sum = Eigen::ArrayXd::Zero(count), own = sum;
  each_logits(last_states(before), [&](Index first, const MatrixXd& block) {
    for (Index i = 0; i < count; ++i) {
      const auto logits = block.col(i).array();
      const double top = std::max(largest(i), logits.maxCoeff());
      sum(i) = sum(i) * std::exp(largest(i) - top) + (logits - top).exp().sum();
      largest(i) = top;
      const Index row = wanted[static_cast<std::size_t>(i)] - first;
      if (row >= 0 && row < block.rows()) own(i) = logits(row);
    }
  });
  std::vector<PredictedToken> result;
  for (Index i = 0; i < count; ++i) {
    result.push_back({own(i) - largest(i) - std::log(sum(i)), own(i) == largest(i)});
  }
  return result;
}

MatrixXd ForwardPass::last_states(const std::vector<Index>& columns) const {
  if (!network_.output) {
    throw UnsupportedTensorFile(checkpoint_.path() + ": need an output to have logits, such as lm_head.weight");
  }
  const MatrixXd x =
      states(static_cast<std::int64_t>(network_.blocks.size()) - 1, true, [](const LayerAttention&) { return true; });
  return normed(network_.output->norm, x(Eigen::all, columns));
}

void ForwardPass::each_logits(const MatrixXd& states,
                              const std::function<void(Index first, const MatrixXd& logits)>& block) const {
  const Output& output = *network_.output;
  for (Index first = 0; first < network_.embeddings.vocabulary; first += vocabulary_rows) {
    const IndexRange rows = {first, std::min<Index>(vocabulary_rows, network_.embeddings.vocabulary - first)};
    MatrixXd logits = projected({{output.words.tensor, rows}}, states);
    if (output.softcap) logits = *output.softcap * (logits / *output.softcap).array().tanh();
    if (!logits.allFinite()) throw std::range_error("on these tokens the logits leave the range of double");
    block(first, logits);
  }
}

MatrixXd ForwardPass::states(std::int64_t last, bool whole,
                             const std::function<bool(const LayerAttention& layer)>& seen) const {
  MatrixXd x = embedded();
  for (std::int64_t layer = 0; layer <= last; ++layer) {
    const Block& block = network_.blocks.at(static_cast<std::size_t>(layer));
    MatrixXd z = normed(block.attention.input_norm, x);
    LayerAttention attention = {.layer = layer,
                                .window = block.attention.window,
                                .query = projected(block.query, z),
                                .key = projected(block.key, z)};
    norm_and_turn(block.attention, attention);
    const MatrixXd heads = attended(block, projected(block.value, z), attention);
    require_finite(heads, layer);
    if (!seen(attention) || (layer == last && !whole)) break;
    if (network_.residual_is_normed) x = std::move(z);
    x += normed(block.attention_end, projected(block.output, heads));
    feed_forward(block, x);
  }
  return x;
}

void ForwardPass::norm_and_turn(const HeadDescription& head, LayerAttention& layer) const {
  if (head.head_norm) {
    const HeadNorm& norm = *head.head_norm;
    const double more = norm.gain_plus_one ? 1 : 0;
    normalise_rows(layer.query, NormKind::rms_norm, network_.epsilon, norm.query_width,
                   vector(norm.query_gain).array() + more);
    normalise_rows(layer.key, NormKind::rms_norm, network_.epsilon, norm.key_width,
                   vector(norm.key_gain).array() + more);
  }
  if (!head.rotary) return;
  rotate_rows(layer.query, head_dim_, *head.rotary, ranges_);
  rotate_rows(layer.key, head_dim_, *head.rotary, ranges_);
}

void ForwardPass::feed_forward(const Block& block, MatrixXd& x) const {
  MatrixXd z = normed(block.middle_norm, x);
  if (block.experts) {
    x += mixed(*block.experts, z);
    return;
  }
  MatrixXd inner = projected(block.gate ? *block.gate : block.up, z);
  in_parallel(static_cast<std::size_t>(inner.cols()), threads_, [&](std::size_t token) {
    for (double& value : inner.col(static_cast<Index>(token))) value = activate(network_.activation, value);
  });
  if (block.gate) inner = inner.cwiseProduct(projected(block.up, z));
  if (network_.residual_is_normed) x = std::move(z);
  x += normed(block.feed_forward_end, projected(block.down, inner));
}

MatrixXd ForwardPass::mixed(const Experts& experts, const MatrixXd& z) const {
  const MatrixXd scores = projected(experts.router, z);
  struct Share {
    Index token;
    double weight;
  };
  std::vector<std::vector<Share>> shares(static_cast<std::size_t>(scores.rows()));  // of each expert
  std::vector<Index> order(shares.size());
  for (Index token = 0; token < z.cols(); ++token) {
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::stable_sort(order, [&](Index a, Index b) { return scores(a, token) > scores(b, token); });
    const std::span<const Index> chosen(order.data(), static_cast<std::size_t>(experts.chosen));
    const auto exponential = [&](Index expert) { return std::exp(scores(expert, token) - scores(order[0], token)); };
    double sum = 0;
    for (const Index expert : chosen) sum += exponential(expert);
    for (const Index expert : chosen) {
      shares[static_cast<std::size_t>(expert)].push_back({token, exponential(expert) / sum});
    }
  }
  std::vector<MatrixXd> parts(shares.size());
  in_parallel(parts.size(), threads_, [&](std::size_t e) {
    if (shares[e].empty()) return;
    MatrixXd x(z.rows(), static_cast<Index>(shares[e].size()));
    for (Index i = 0; i < x.cols(); ++i) x.col(i) = z.col(shares[e][static_cast<std::size_t>(i)].token);
    const MatrixXd both = projected(experts.gate_and_up, static_cast<Index>(e), x);
    MatrixXd inner(both.rows() / 2, both.cols());
    for (Index i = 0; i < inner.rows(); ++i) {
      const auto gate = both.row(2 * i).array().min(experts.limit);
      const auto up = both.row(2 * i + 1).array().min(experts.limit).max(-experts.limit);
      inner.row(i) = (up + 1) * gate / (1 + (-experts.alpha * gate).exp());
    }
    parts[e] = projected(experts.down, static_cast<Index>(e), inner);
  });
  MatrixXd result = MatrixXd::Zero(z.rows(), z.cols());
  for (std::size_t e = 0; e < parts.size(); ++e) {
    for (std::size_t i = 0; i < shares[e].size(); ++i) {
      result.col(shares[e][i].token) += shares[e][i].weight * parts[e].col(static_cast<Index>(i));
    }
  }
  return result;
}

MatrixXd ForwardPass::projected(const ExpertLinear& linear, Index expert, const MatrixXd& x) const {
  const StoredTensor& stored = *checkpoint_.find(linear.weights);
  const std::int64_t rows = stored.shape.at(1), outputs = linear.transposed ? stored.shape.at(2) : rows;
  const MatrixXd weights = checkpoint_.read(stored, {expert * rows, rows}, {0, stored.shape.at(2)}).values;
  MatrixXd result(outputs, x.cols());
  multiply(weights, linear.transposed, x, result);
  result.colwise() +=
      checkpoint_.read(*checkpoint_.find(linear.bias), {expert, 1}, {0, outputs}).values.row(0).transpose();
  return result;
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
          places.factor * row(places.words, ids_[input][i]) +
          (places.positions.empty() ? shared : row(places.positions, positions[i]) + shared);
    }
  }
  return x;
}

MatrixXd ForwardPass::normed(const std::optional<InputNorm>& norm, MatrixXd x) const {
  if (!norm) return x;
  const VectorXd gain = vector(norm->gain).array() + (norm->gain_plus_one ? 1.0 : 0.0);
  normalise_rows(x, norm->kind, network_.epsilon, x.rows(), gain,
                 norm->offset.tensor.empty() ? VectorXd() : vector(norm->offset));
  return x;
}

MatrixXd ForwardPass::projected(const Linear& linear, const MatrixXd& x) const {
  const MatrixXd weights = stored_weights(checkpoint_, linear.weights, x.rows());
  const VectorXd bias = linear.bias.tensor.empty() ? VectorXd() : vector(linear.bias);
  MatrixXd result(linear.weights.outputs.count, x.cols());
  const auto blocks = static_cast<std::size_t>((x.cols() + product_columns - 1) / product_columns);
  in_parallel(blocks, threads_, [&](std::size_t block) {
    const Index first = static_cast<Index>(block) * product_columns;
    const Index count = std::min(product_columns, x.cols() - first);
    auto part = result.middleCols(first, count);
    multiply(weights, linear.weights.transposed, x.middleCols(first, count), part);
    if (bias.size() != 0) part.colwise() += bias;
  });
  return result;
}

MatrixXd ForwardPass::attended(const Block& block, const MatrixXd& value, LayerAttention& layer) const {
  MatrixXd output(heads_ * head_dim_, tokens_), log_sum(tokens_, heads_), largest_score(tokens_, heads_);
  layer.entropy.resize(tokens_, heads_);
  const auto heads = static_cast<std::size_t>(heads_);
  const Weighing& weighing = weighing_.at(static_cast<std::size_t>(layer.layer));
  MatrixXd scaled;
  if (weighing.factor) {
    scaled = layer.query;
    for (const TokenRange& range : ranges_) {
      for (Index i = 0; i < range.count; ++i) {
        const Index keys = block.attention.causal ? i + 1 : range.count;
        const auto seen = std::min<std::uint64_t>(static_cast<std::uint64_t>(keys), layer.window.value_or(UINT64_MAX));
        scaled.col(range.first + i) *= weighing.factor(static_cast<std::int64_t>(seen));
      }
    }
  }
  in_parallel(ranges_.size() * heads, threads_, [&](std::size_t task) {
    const TokenRange& range = ranges_[task / heads];
    call_attention(weighing.kernel, {.query = weighing.factor ? scaled : layer.query,
                                     .key = layer.key,
                                     .value = value,
                                     .output = output,
                                     .entropy = layer.entropy,
                                     .log_sum = log_sum,
                                     .largest_score = largest_score,
                                     .first_token = range.first,
                                     .tokens = range.count,
                                     .head = static_cast<Index>(task % heads),
                                     .key_head = static_cast<Index>(task % heads) * key_heads_ / heads_,
                                     .head_dim = head_dim_,
                                     .scale = block.attention.scale.midpoint(),
                                     .causal = block.attention.causal,
                                     .window = layer.window,
                                     .softcap = block.attention.softcap,
                                     .adaptive = weighing.adaptive});
  });
  const bool has_sinks = !block.attention.sink.tensor.empty();
  if (weighing.adaptive && has_sinks) throw UnsupportedTensorFile("adaptive attention: need heads without sinks");
  if (!weighing.adaptive) layer.largest_coefficient = (largest_score - log_sum).array().exp();
  if (has_sinks) join_sinks(block.attention, log_sum, layer, output);
  return output;
}

// The denominator gets one term more: what an item has is what it had times the share that the sink leaves.
void ForwardPass::join_sinks(const HeadDescription& head, const MatrixXd& log_sum, LayerAttention& layer,
                             MatrixXd& output) const {
  const VectorXd sinks = vector(head.sink);
  const auto term = [](double p) { return p > 0 ? -p * std::log(p) : 0; };
  for (Index h = 0; h < heads_; ++h) {
    for (Index token = 0; token < tokens_; ++token) {
      const double items = 1 / (1 + std::exp(sinks(h) - log_sum(token, h)));
      const double sink = 1 / (1 + std::exp(log_sum(token, h) - sinks(h)));
      output.block(h * head_dim_, token, head_dim_, 1) *= items;
      layer.largest_coefficient(token, h) *= items;
      layer.entropy(token, h) = items * layer.entropy(token, h) + term(items) + term(sink);
    }
  }
}

VectorXd ForwardPass::vector(const VectorPlace& place) const {
  return checkpoint_.read(*checkpoint_.find(place.tensor), {0, 1}, place.entries).values.transpose();
}

}  // namespace softcheck::models
