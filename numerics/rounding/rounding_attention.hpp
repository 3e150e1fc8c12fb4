#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "numerics/rounding/rounding_model.hpp"
#include "numerics/rounding/theorem_attention_bounds.hpp"

namespace softcheck::numerics {

/// A kernel's arithmetic beyond its contract.
struct AttentionArithmetic {
  std::uint64_t dimension = 1;         // d: length of queries and keys
  double scale = 1;                    // of the scores
  Format coefficients = Format::f32;   // format of the weights in P V
  std::uint64_t value_sum_height = 0;  // of sums over keys in P V; 0: one key
  double factor_sum = 0;               // sum_t |q_t| + |k_t|, for the underflow of scaling
};

/// B9's e_j: |computed score - score| for one query and one key.
///
/// dot_magnitude    sum_t |q_t k_jt|
template <class T>
T score_error(const Contract& contract, const AttentionArithmetic& arithmetic, const T& dot_magnitude);

/// The same after storing the score in the format of scores=.
///
/// magnitude    |score|, exact
template <class T>
T stored_score_error(const Contract& contract, const T& score_error, const T& magnitude);

/// Is scale <query, key> exact in the accumulator, in any order of its products and wherever the scale is applied? Then
/// e_j = 0. Sufficient: all products are multiples of one power of two and few enough not to overflow a significand,
/// and the scale is a power of two without a folded change of base (A <= 1), and not split unless it is 1.
///
/// query, key    (d), finite
bool score_is_exact(const Contract& contract, double scale, std::span<const double> query, std::span<const double> key);

/// The scores of one query, or beta times them, and their softmax; all are upper bounds.
template <class T>
struct ScoreRow {
  RowStatistics<T> statistics;      // of the exact scores; theta is ignored
  std::span<const T> coefficients;  // (n) p_j; 0 where masked
  std::span<const T> deviations;    // (n) D_j; any value where masked
};

/// B9: the thresholds of one query (docs/tolerances.md, B9), for each column of V, the log-sum-exp and the entropy of a
/// fixed row of scores.
template <class T>
class AttentionThreshold {
 public:
  /// score_errors    (n) e_j
  /// throws          std::invalid_argument if the lengths differ
  AttentionThreshold(const Contract& contract, const AttentionArithmetic& arithmetic, const ScoreRow<T>& scores,
                     std::span<const T> score_errors, Grants grants = Grants::all);
  /// Adaptive attention: B9 with B10. The exact results are those of softmax(beta x).
  ///
  /// sharpened    of beta times the scores; the deviations are beta (m - x_j)
  AttentionThreshold(const Contract& contract, const AttentionArithmetic& arithmetic, const ScoreRow<T>& scores,
                     const ScoreRow<T>& sharpened, const T& beta, std::span<const T> score_errors,
                     Grants grants = Grants::all);

  /// |computed O_c - O_c| for one column.
  ///
  /// values    (n) |v_jc|          output    |O_c|
  ScalarThreshold<T> column(std::span<const T> values, const T& output) const;
  /// The same from the sums of the values, weighted by term_errors() (terms) and plain (magnitude).
  ScalarThreshold<T> column(const T& terms, const T& magnitude, const T& output) const;
  /// (n) The error of a column's term per unit of |v_jc|.
  std::span<const T> term_errors() const { return term_errors_; }
  /// |computed L - L| in an output format.
  ScalarThreshold<T> logsumexp(Format output) const;
  /// |computed H - H|, B6.
  ScalarThreshold<T> entropy(Format output) const;
  /// B1 of the computed row: the error of its S >= 1.
  T sum_error() const { return sum_error(grants_); }
  /// The same with other grants for the sum; the computed row is unchanged.
  T sum_error(Grants grants) const;
  /// entropy_undershoot of the computed row.
  T undershoot(Format output) const;

 private:
  // The difference between the kernel's computed logits and the exact ones.
  struct Perturbation {
    Contract contract;       // of the softmax of the computed logits
    RowStatistics<T> moved;  // of the computed logits
    T largest{};             // max e_j
    T mean{};                // sum p_j e_j
    T factor{1};             // of the e_j
    T tilt{};                // |beta_hat - beta|: adds an error of tilt D_j
    T wider_mean{};          // Dbar' of B10
    T logsumexp{};
    T entropy{};
  };
  static Perturbation of_scores(const Contract& contract, const ScoreRow<T>& scores, std::span<const T> score_errors,
                                const T& factor);
  static Perturbation of_sharpened(const Contract& contract, const ScoreRow<T>& scores, const ScoreRow<T>& sharpened,
                                   const T& beta, std::span<const T> score_errors, Grants grants);
  AttentionThreshold(const Contract& contract, const AttentionArithmetic& arithmetic, const ScoreRow<T>& row,
                     std::span<const T> score_errors, Perturbation perturbation, Grants grants);

  Perturbation perturbation_;
  Grants grants_;
  RoundingModel<T> model_;
  std::vector<T> term_errors_;  // bound |computed p_j / common factor - p_j|, without underflow
  formulas::attention::queries::QueryBounds<T> bounds_;
};

}  // namespace softcheck::numerics
