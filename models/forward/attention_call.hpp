#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <optional>

#include "kernels/abi/softcheck_kernel.h"

namespace softcheck::models {

/// One head's attention to one input in one layer: what a kernel reads, and what it writes. Matrices have a column for
/// each token of all inputs, one input behind the other; a head, or a key head, has head_dim rows of them.
struct AttentionCall {
  const Eigen::MatrixXd& query;
  const Eigen::MatrixXd& key;
  const Eigen::MatrixXd& value;
  Eigen::MatrixXd& output;
  /// (tokens, heads): of each query's row of coefficients the entropy in nats, and ln of the sum of the exponentials of
  /// its scores, and its largest score.
  Eigen::MatrixXd& entropy;
  Eigen::MatrixXd& log_sum;
  Eigen::MatrixXd& largest_score;
  Eigen::Index first_token;
  Eigen::Index tokens;
  Eigen::Index head;
  Eigen::Index key_head;
  Eigen::Index head_dim;
  double scale;
  bool causal;
  std::optional<std::uint64_t> window = {};  // most keys that a query sees, its own and those before it
  std::optional<double> softcap = {};
  bool adaptive = false;  // the kernel is softcheck_adaptive_attention: largest_score stays as it is
};

/// Calls a kernel with the four outputs of softcheck_attention (kernels/README.md) in f64; by version 2 of the ABI
/// where there is a window or a softcap. An adaptive kernel gets three outputs, and a mask for a window.
///
/// throws   std::invalid_argument for a softcap of an adaptive kernel; std::runtime_error where the kernel refuses
void call_attention(softcheck_kernel kernel, const AttentionCall& call);

}  // namespace softcheck::models
