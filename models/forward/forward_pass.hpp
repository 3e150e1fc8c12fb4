#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "kernels/abi/softcheck_kernel.h"
#include "models/architectures/description.hpp"
#include "models/forward/head_rows.hpp"
#include "models/forward/network.hpp"
#include "models/forward/token_ids.hpp"
#include "models/read/checkpoint.hpp"

namespace softcheck::models {

/// What the heads of one layer have in a forward pass. Columns, and rows of the numbers below, are tokens: those of all
/// inputs, one input behind the other.
struct LayerAttention {
  std::int64_t layer = 0;
  std::optional<std::uint64_t> window = {};  // most keys that a query sees, of ids alone
  // (heads head_dim, tokens) and (key heads head_dim, tokens), normed and rotated: one head behind the other
  Eigen::MatrixXd query = {}, key = {};
  Eigen::MatrixXd entropy = {};  // (tokens, heads), of each query's coefficients, a sink's among them, in nats
  Eigen::MatrixXd largest_coefficient = {};  // (tokens, heads); empty where the kernel is adaptive
};

/// How a layer turns scores into coefficients.
struct Weighing {
  softcheck_kernel kernel = nullptr;  // softcheck_attention, or one with the same four outputs
  bool adaptive = false;              // the kernel is softcheck_adaptive_attention
  /// Of all scores of a query that sees so many keys, before the kernel; none: 1.
  std::function<double(std::int64_t keys)> factor = {};
};

/// What a model says of a token before it reads it.
struct PredictedToken {
  double log_probability = 0;  // of the token that follows
  bool most_probable = false;  // no other has a larger logit
};

/// A language model run forward on ids of tokens, in f64: weights are the exact numbers of the file, products are
/// Eigen's, attention is that of a kernel behind the ABI. Tensors are read one at a time. Each input is whole: no token
/// is masked, whatever its id.
class ForwardPass {
 public:
  /// kernel   softcheck_attention, or one with the same four outputs
  /// threads  >= 1; the numbers do not depend on it
  /// throws   as describe_network; TensorFileError where an id is not below the vocabulary's size or an input is longer
  ///          than the context; UnsupportedTensorFile where the inputs have more than 65536 tokens together
  ForwardPass(const Checkpoint& checkpoint, const ModelDescription& model, TokenIds inputs, softcheck_kernel kernel,
              unsigned threads = 1);

  /// weighing   of each layer, of which kernel is not null
  ForwardPass(const Checkpoint& checkpoint, const ModelDescription& model, TokenIds inputs,
              std::vector<Weighing> weighing, unsigned threads = 1);

  const std::vector<TokenRange>& inputs() const { return ranges_; }

  /// Runs layers 0 ... last.
  ///
  /// seen     gets each layer's attention, first layer first; false ends the pass
  /// throws   as Checkpoint::read; std::range_error where a number leaves the range of double; std::runtime_error where
  ///          the kernel refuses
  void run(std::int64_t last, const std::function<bool(const LayerAttention& layer)>& seen) const;

  /// The logits of the token behind each input, (vocabulary, inputs). A part of the vocabulary's rows is in memory at a
  /// time.
  ///
  /// throws   as run; UnsupportedTensorFile where the model has no known output
  Eigen::MatrixXd logits() const;

  /// What the model says of tokens, each from those before it in its input.
  ///
  /// columns  of the tokens among those of all inputs; none is the first of its input
  /// throws   as logits
  std::vector<PredictedToken> predicted(const std::vector<Eigen::Index>& columns) const;

 private:
  // The normed states before the output, a column for each of these of all tokens.
  Eigen::MatrixXd last_states(const std::vector<Eigen::Index>& columns) const;
  // Calls block(first row, logits) for blocks of the vocabulary's rows.
  void each_logits(const Eigen::MatrixXd& states,
                   const std::function<void(Eigen::Index first, const Eigen::MatrixXd& logits)>& block) const;
  Eigen::MatrixXd embedded() const;
  // The states behind a layer; those before its last sum where seen ends the pass or no more is needed.
  Eigen::MatrixXd states(std::int64_t last, bool whole, const std::function<bool(const LayerAttention&)>& seen) const;
  Eigen::MatrixXd normed(const std::optional<InputNorm>& norm, Eigen::MatrixXd x) const;
  void norm_and_turn(const HeadDescription& head, LayerAttention& layer) const;
  void feed_forward(const Block& block, Eigen::MatrixXd& x) const;
  Eigen::MatrixXd projected(const Linear& linear, const Eigen::MatrixXd& x) const;
  Eigen::MatrixXd attended(const Block& block, const Eigen::MatrixXd& value, LayerAttention& layer) const;
  Eigen::MatrixXd mixed(const Experts& experts, const Eigen::MatrixXd& z) const;
  Eigen::MatrixXd projected(const ExpertLinear& linear, Eigen::Index expert, const Eigen::MatrixXd& x) const;
  void join_sinks(const HeadDescription& head, const Eigen::MatrixXd& log_sum, LayerAttention& layer,
                  Eigen::MatrixXd& output) const;
  Eigen::VectorXd vector(const VectorPlace& place) const;

  const Checkpoint& checkpoint_;
  std::int64_t hidden_, heads_, key_heads_, head_dim_;
  Network network_;
  TokenIds ids_;
  std::vector<TokenRange> ranges_;
  Eigen::Index tokens_ = 0;
  std::vector<Weighing> weighing_;
  unsigned threads_;
};

}  // namespace softcheck::models
