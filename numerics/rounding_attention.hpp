#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "numerics/rounding_model.hpp"

namespace softcheck::numerics {

/// How an attention kernel computes, beyond its contract.
struct AttentionArithmetic {
  std::uint64_t dimension = 1;         // d: length of a query and a key
  double scale = 1;                    // of the scores
  Format coefficients = Format::f32;   // in which the unnormalised coefficients enter P V
  std::uint64_t value_sum_height = 0;  // of the sums over keys in P V; 0 is one key
};

/// B9's e_j: |computed score - score| for one query and one key.
///
/// dot_magnitude    sum_t |q_t k_jt|
template <class T>
T score_error(const Contract& contract, const AttentionArithmetic& arithmetic, const T& dot_magnitude);

/// B9: threshold of the attention output of one query; docs/tolerances.md, B9. Fixed for the row of scores, then asked
/// for each column of V.
template <class T>
class AttentionThreshold {
 public:
  /// row             statistics of the exact scores (theta 1)
  /// coefficients    (n) p_j; 0 where masked
  /// deviations      (n) D_j; any value where masked
  /// score_errors    (n) e_j
  /// throws          std::invalid_argument when the lengths differ
  AttentionThreshold(const Contract& contract, const AttentionArithmetic& arithmetic, const RowStatistics<T>& row,
                     std::span<const T> coefficients, std::span<const T> deviations, std::span<const T> score_errors,
                     Grants grants = Grants::all);

  /// |computed O_c - O_c| for one column.
  ///
  /// values    (n) |v_jc|          output    |O_c|
  ScalarThreshold<T> column(std::span<const T> values, const T& output) const;

 private:
  RoundingModel<T> model_;
  std::vector<T> term_errors_;  // bounds |computed p_j / common factor - p_j|, underflow apart
  T common_;                    // log error of the denominator, the division and the shift by the scores' errors
  T lost_;                      // what underflows in a coefficient
};

}  // namespace softcheck::numerics
