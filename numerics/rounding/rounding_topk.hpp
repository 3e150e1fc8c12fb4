#pragma once

#include <cstdint>
#include <optional>

#include "numerics/rounding/rounding_model.hpp"

/// B18: the k largest coefficients of a softmax. Proofs: docs/tolerances/topk.md.
namespace softcheck::numerics {

/// The chosen items of a row, each an upper bound. r are their exact weights over their sum.
template <class T>
struct ChosenItems {
  std::uint64_t count = 0;                      // k >= 1, including masked items
  T top_deviation{};                            // m minus the largest chosen logit
  T mean_deviation{};                           // sum r_j D'_j, D'_j the largest chosen logit minus x_j
  std::optional<std::uint64_t> additions = {};  // on a path of the tree that adds them; nothing: k - 1
  std::optional<T> over_mass = {};              // 1 over the sum of their p; nothing: 1 over the largest p
};

/// What a kernel may choose, and how far its weights may be from the exact ones of its items. Allowed: a choice by the
/// logits, the exponentials, or the stored coefficients; weights divided by their sum, added in any order, or a softmax
/// of the chosen logits.
///
/// contract   acc, exp, sum, subnormal, weights, total, input (of the logits), output (of the weights)
template <class T>
class TopkThreshold {
 public:
  ///
  /// divided   the coefficients may be divided once more before they are compared or weighed (docs/tolerances/top_p.md)
  TopkThreshold(const Contract& contract, const RowStatistics<T>& row, Grants grants = Grants::all,
                bool divided = false);

  /// How far the logit of item i may exceed that of item j if a kernel ranks j at least as high as i; infinite if the
  /// coefficient of i may underflow.
  ///
  /// higher, lower   D_i, D_j
  T exchange(const T& higher, const T& lower) const;

  /// |computed p_j - p_j| as a function of D_j: B2.
  const ElementThreshold<T>& weights() const { return weights_; }
  /// |computed r_j - r_j| as a function of D'_j.
  ElementThreshold<T> renormalised(const ChosenItems<T>& chosen) const;

 private:
  RoundingModel<T> model_;
  formulas::ElementBounds<T> bounds_;
  ElementThreshold<T> weights_;
  T log_sum_;
  T own_;        // log error of a coefficient at D = 0, without the part that all coefficients of a row share
  T magnified_;  // e^element_log: at least 1 over the shared part
};

/// The error without and with underflow.
struct RouterError {
  UpperBound rounding, total;
};

/// A router's arithmetic on scores p + bias, and on weights that are no softmax.
class RouterThreshold {
 public:
  explicit RouterThreshold(const Contract& contract);

  /// The error of a score p + bias.
  ///
  /// p        of the coefficient, error its own        bias    |bias|        score    |p + bias|
  UpperBound score(const UpperBound& error, const UpperBound& bias, const UpperBound& score) const;
  /// The rounding error of a sum of two computed scores of this size.
  UpperBound pair(const UpperBound& sum) const;
  /// The error of p_i / P, P = sum p over the chosen items, each with its error.
  ///
  /// k             the number of chosen items          errors    the sum of their errors
  /// over_chosen   1 / P
  RouterError share(const UpperBound& p, const ScalarThreshold<UpperBound>& error, std::uint64_t k,
                    const ScalarThreshold<UpperBound>& errors, const UpperBound& over_chosen) const;
  /// The error of a computed weight times a factor, stored as the output.
  ///
  /// factor   1 if there is none
  UpperBound stored(const UpperBound& weight, const UpperBound& error, const UpperBound& factor) const;

 private:
  OperationModel<UpperBound> model_;
  UpperBound bias_unit_;  // of reading a bias
};

}  // namespace softcheck::numerics
