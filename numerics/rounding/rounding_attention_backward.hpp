#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "numerics/rounding/rounding_operations.hpp"

/// B17: the gradient of attention. Derivation: docs/tolerances/attention_backward.md.
namespace softcheck::numerics {

/// A kernel's arithmetic of the gradient beyond its contract.
struct AttentionBackwardArithmetic {
  std::uint64_t value_size = 1;        // d_v >= 1
  std::uint64_t key_sum_height = 0;    // of sums over keys: delta and dq
  std::uint64_t query_sum_height = 0;  // of sums over the queries of all heads of a group: dk and dv
  double scale = 1;                    // of the scores, finite
  Format out_saved = Format::f32;      // format of the saved O
  Format lse_saved = Format::f32;      // format of the saved L
};

/// The slope 1 - tanh(s / c)^2 by which a softcap c multiplies the gradient of a score s. Both are upper bounds.
struct CapSlope {
  UpperBound slope = UpperBound(1);
  UpperBound error;  // |computed - exact|
};

/// The error of a softcap's slope, with tanh recomputed or taken from the capped score.
///
/// softcap       c > 0
/// slope         1 - tanh(s / c)^2
/// magnitude     |tanh(s / c)|
/// score_error   |computed s - s| / c
/// throws        std::invalid_argument if c <= 0
CapSlope cap_slope(const Contract& contract, double softcap, const UpperBound& slope, const UpperBound& magnitude,
                   const UpperBound& score_error);

/// A visible pair of a query and a key; or of a query and its sink, for which gradient_magnitude and value_sum are 0.
/// All are upper bounds.
struct BackwardPair {
  UpperBound coefficient;         // p_j
  UpperBound deviation;           // D_j = max x - x_j
  UpperBound score_error;         // e_j of B9
  UpperBound difference;          // |g_j - delta + dL|, g_j = <dO, v_j>, delta = sum p g; dL below, or 0
  UpperBound gradient_magnitude;  // sum_c |dO_c v_jc|
  UpperBound value_sum;           // sum_c |v_jc|
  std::optional<CapSlope> cap = {};
};

/// Differences between given saved tensors and the exact ones, for one query. All are upper bounds.
struct SavedErrors {
  UpperBound logsumexp;   // |saved L - L|
  UpperBound output;      // sum_c |dO_c (saved O_c - O_c)|
  UpperBound output_sum;  // sum_c |saved O_c - O_c|
};

/// A query with at least one visible key. All are upper bounds.
struct BackwardRow {
  std::span<const BackwardPair> pairs;
  std::uint64_t rescalings = 0;           // rescaling_count of the scores
  UpperBound log_sum;                     // ln S = L - max x
  UpperBound lse_magnitude;               // |L|
  UpperBound output_product;              // sum_c |dO_c O_c|, of the exact O
  UpperBound gradient_sum;                // sum_c |dO_c|
  std::optional<SavedErrors> saved = {};  // nothing: exact values, each rounded once to its format
  /// |dL|, the gradient of the loss by L, in the format lse_saved; nothing: the kernel takes none.
  std::optional<UpperBound> lse_gradient = {};
};

/// How far a kernel's p and dS of one pair may be from the exact ones.
struct BackwardPairError {
  UpperBound coefficient;           // p_j
  UpperBound coefficient_log;       // |ln(computed p_j / p_j)|, without underflow
  UpperBound coefficient_floor;     // underflow in p_j
  UpperBound score_gradient;        // |dS_j|
  UpperBound score_gradient_error;  // |computed dS_j - dS_j|, without underflow
  UpperBound score_gradient_floor;  // underflow in dS_j
};

/// The pairs of one query. Allowed: p from the saved L, from a recomputed L, or as a quotient by a recomputed sum;
/// delta from the saved O, from a recomputed O, or as sum p g; any order within the heights; g - (delta - dL), (g -
/// delta) + dL, (g + dL) - delta, or p (g - delta) + p dL.
///
/// contract   acc, exp, sum, subnormal, weights (of P before dO), ds, input
/// throws     std::invalid_argument if there is no pair or the scale is not finite
std::vector<BackwardPairError> attention_backward_pairs(const Contract& contract,
                                                        const AttentionBackwardArithmetic& arithmetic,
                                                        const BackwardRow& row);

/// The same for the label of a loss that takes its score from L: dS = (p - 1) dL, from p - 1 or as p dL - dL.
///
/// pair         that of p dL
/// upstream     |dL|, in the accumulator's or the inputs' format
/// difference   |(p - 1) dL|
BackwardPairError label_pair_error(const Contract& contract, const BackwardPairError& pair, const UpperBound& upstream,
                                   const UpperBound& difference);

/// |computed dq_t - dq_t| of one query, over its keys; or |computed dk_t - dk_t| of one key, over the queries of all
/// heads of its group. Computes what all t share once.
class ScoreGradientSum {
 public:
  /// height     additions on a term's path
  ScoreGradientSum(const Contract& contract, const AttentionBackwardArithmetic& arithmetic,
                   std::span<const BackwardPairError> pairs, std::uint64_t height);

  /// factors    |k_jt| or |q_it| of the pairs         result    |dq_t| or |dk_t|
  /// throws     std::invalid_argument if the lengths differ
  ScalarThreshold<UpperBound> error(std::span<const UpperBound> factors, const UpperBound& result) const;
  /// The same from the factors' sums weighted by errors() and by floors().
  ScalarThreshold<UpperBound> error(UpperBound errors, UpperBound floors, const UpperBound& result) const;
  std::span<const UpperBound> errors() const { return errors_; }
  std::span<const UpperBound> floors() const { return floors_; }

 private:
  OperationModel<UpperBound> model_;
  // per pair, to be multiplied by its factor: without underflow, and by underflow
  std::vector<UpperBound> errors_, floors_;
  UpperBound lost_, scale_, amplified_;  // lost_: of all pairs, independent of their factors
};

/// |computed dv_c - dv_c| of one key, over the queries of all heads of its group, with query_sum_height.
class ValueGradientSum {
 public:
  ValueGradientSum(const Contract& contract, const AttentionBackwardArithmetic& arithmetic,
                   std::span<const BackwardPairError> pairs);

  /// gradients  |dO_ic| of the pairs                     result    |dv_c|
  /// throws     std::invalid_argument if the lengths differ
  ScalarThreshold<UpperBound> error(std::span<const UpperBound> gradients, const UpperBound& result) const;
  ScalarThreshold<UpperBound> error(UpperBound errors, UpperBound floors, const UpperBound& result) const;
  std::span<const UpperBound> errors() const { return errors_; }
  std::span<const UpperBound> floors() const { return floors_; }

 private:
  OperationModel<UpperBound> model_;
  std::vector<UpperBound> errors_, floors_;
  UpperBound lost_, amplified_;
};

/// |computed dsink - dsink| of one head, dsink = -sum p_sink delta over its queries in all batches. A query whose only
/// item is the sink has delta = 0 and is left out.
///
/// Also for a number of a bias, sum p (g - delta) over the heads that share it, for one query and key.
///
/// contract   its output is the gradient's format
/// sinks      the sink's pair of each query, whose score gradient is -p_sink delta; for a bias the pair of each head,
///            without a softcap's slope
/// height     additions on a term's path
/// result     |dsink|
ScalarThreshold<UpperBound> sink_gradient_error(const Contract& contract, std::span<const BackwardPairError> sinks,
                                                std::uint64_t height, const UpperBound& result);

}  // namespace softcheck::numerics
