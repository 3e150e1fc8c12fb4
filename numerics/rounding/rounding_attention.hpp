#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "numerics/rounding/rounding_model.hpp"
#include "numerics/rounding/theorem_attention_bounds.hpp"

namespace softcheck::numerics {

/// How an attention kernel computes, beyond its contract.
struct AttentionArithmetic {
  std::uint64_t dimension = 1;         // d: length of a query and a key
  double scale = 1;                    // of the scores
  Format coefficients = Format::f32;   // in which the weights enter P V
  std::uint64_t value_sum_height = 0;  // of the sums over keys in P V; 0 is one key
  double factor_sum = 0;               // sum_t |q_t| + |k_t|, of what underflows as it is scaled
};

/// B9's e_j: |computed score - score| for one query and one key.
///
/// dot_magnitude    sum_t |q_t k_jt|
template <class T>
T score_error(const Contract& contract, const AttentionArithmetic& arithmetic, const T& dot_magnitude);

/// The same of a score that is then stored in the contract's scores= format.
///
/// magnitude    |score|, exact
template <class T>
T stored_score_error(const Contract& contract, const T& score_error, const T& magnitude);

/// Is scale <query, key> exact in the accumulator, in whatever order its products are added and wherever the scale
/// enters? Then e_j = 0: all products are multiples of one power of two and too few to overflow a significand, and
/// the scale is a power of two, into which no change of base is folded (A <= 1), and, unless it is 1, not split.
///
/// query, key    (d), finite
bool score_is_exact(const Contract& contract, double scale, std::span<const double> query, std::span<const double> key);

/// The scores of one query, or those times beta, and what softmax makes of them: upper bounds each.
template <class T>
struct ScoreRow {
  RowStatistics<T> statistics;      // of the exact scores; theta is not looked at
  std::span<const T> coefficients;  // (n) p_j; 0 where masked
  std::span<const T> deviations;    // (n) D_j; any value where masked
};

/// B9: thresholds of one query; docs/tolerances.md, B9. Fixed for the row of scores, then asked for each column of V,
/// for the log-sum-exp and for the entropy.
template <class T>
class AttentionThreshold {
 public:
  /// score_errors    (n) e_j
  /// throws          std::invalid_argument when the lengths differ
  AttentionThreshold(const Contract& contract, const AttentionArithmetic& arithmetic, const ScoreRow<T>& scores,
                     std::span<const T> score_errors, Grants grants = Grants::all);
  /// Adaptive attention: B9 with B10. The results are those of softmax(beta x).
  ///
  /// sharpened    of beta times the scores; the deviations are beta (m - x_j)
  AttentionThreshold(const Contract& contract, const AttentionArithmetic& arithmetic, const ScoreRow<T>& scores,
                     const ScoreRow<T>& sharpened, const T& beta, std::span<const T> score_errors,
                     Grants grants = Grants::all);

  /// |computed O_c - O_c| for one column.
  ///
  /// values    (n) |v_jc|          output    |O_c|
  ScalarThreshold<T> column(std::span<const T> values, const T& output) const;
  /// The same of values whose sum, and whose sum by term_errors(), are at hand.
  ScalarThreshold<T> column(const T& terms, const T& magnitude, const T& output) const;
  /// (n) What a term of a column errs by for each unit of |v_jc|.
  std::span<const T> term_errors() const { return term_errors_; }
  /// |computed L - L| of a result in a format.
  ScalarThreshold<T> logsumexp(Format output) const;
  /// |computed H - H|, B6.
  ScalarThreshold<T> entropy(Format output) const;
  /// B1 of the row as computed: what S >= 1 is held to.
  T sum_error() const { return sum_error(grants_); }
  /// With other grants of the sum; what is computed is as before.
  T sum_error(Grants grants) const;
  /// entropy_undershoot of the row as computed.
  T undershoot(Format output) const;

 private:
  // How the logits that the kernel's softmax works on differ from the exact ones.
  struct Perturbation {
    Contract contract;       // of the softmax of what is computed
    RowStatistics<T> moved;  // of what is computed
    T largest{};             // max e_j
    T mean{};                // sum p_j e_j
    T factor{1};             // of the e_j
    T tilt{};                // |beta_hat - beta|: an error of tilt D_j more
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
  std::vector<T> term_errors_;  // bounds |computed p_j / common factor - p_j|, underflow apart
  formulas::attention::queries::QueryBounds<T> bounds_;
};

}  // namespace softcheck::numerics
