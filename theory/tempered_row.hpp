#pragma once

#include <optional>
#include <vector>

#include "numerics/enclosure.hpp"
#include "theory/level_row.hpp"

namespace softcheck::theory {

/// softmax(beta x) of a row given by its levels, at the working precision of the moment of construction.
/// With M the largest and m the smallest logit: D_j = beta (M - x_j) >= 0, E_j = beta (x_j - m) >= 0, w_j = exp(-D_j).
class TemperedRow {
 public:
  /// beta     an enclosure of a number >= 0
  TemperedRow(const LevelRow& row, const numerics::Enclosure& beta);

  std::size_t levels() const { return counts_.size(); }
  const numerics::Enclosure& items() const { return items_; }  // n
  const numerics::Enclosure& count(std::size_t j) const { return counts_[j]; }
  const numerics::Enclosure& deviation(std::size_t j) const { return deviations_[j]; }         // D_j
  const numerics::Enclosure& rise(std::size_t j) const { return rises_[j]; }                   // E_j
  const numerics::Enclosure& weight(std::size_t j) const { return weights_[j]; }               // w_j
  const numerics::Enclosure& spread() const { return deviations_.back(); }                     // beta (M - m)
  const numerics::Enclosure& sum() const { return sum_; }                                      // S = sum count_j w_j
  const numerics::Enclosure& mean_deviation() const { return mean_deviation_; }                // E[D]
  const numerics::Enclosure& mean_square_deviation() const { return mean_square_deviation_; }  // E[D^2]
  const numerics::Enclosure& log_sum() const { return log_sum_; }                              // ln S
  numerics::Enclosure coefficient(std::size_t j) const { return weights_[j] / sum_; }
  numerics::Enclosure entropy() const { return log_sum_ + mean_deviation_; }
  /// Var(D) = beta^2 Var(x), as a sum of squares: certainly >= 0, and 0 exactly where all logits are equal.
  numerics::Enclosure variance() const;

 private:
  std::vector<numerics::Enclosure> counts_, deviations_, rises_, weights_;
  numerics::Enclosure items_, sum_, mean_deviation_, mean_square_deviation_, log_sum_;
};

/// exp(beta (M - logit)), the factor by which tiny entropies are magnified where they would leave even the exponent
/// range of MPFR. logit is the second largest of the row; none is 1.
struct Magnification {
  double logit;
  numerics::Enclosure beta;
};

/// The magnification that makes the excess entropies of a row comparable at beta and above: none while exp(-beta (M -
/// second)) is an ordinary number, and none for a row of equal logits.
std::optional<Magnification> magnification(const LevelRow& row, const numerics::Enclosure& beta);

/// H(softmax(beta x)) - ln K, K being the number of items that share the maximum, times the magnification: ln K would
/// drown the entropy of a sharp row, and cancels where two temperatures of one row are compared.
///
/// beta     >= magnification->beta where there is one
numerics::Enclosure excess_entropy(const LevelRow& row, const numerics::Enclosure& beta,
                                   const std::optional<Magnification>& magnification);

/// H(softmax(b1 x)) - H(softmax(b2 x)) for 0 <= b1 <= b2, times some positive factor (1 for rows that are not too
/// sharp). Its sign is decided for every finite row: beside the difference itself stands the mean-value form
///   integral of b Var_b over [b1, b2]  in  (b2^2 - b1^2)/2 Var,   K/S E[(M - x)^2] <= Var <= E[(M - x)^2],
/// terms of one sign made of exact differences, and both are intersected.
numerics::Enclosure entropy_drop(const LevelRow& row, const numerics::Enclosure& b1, const numerics::Enclosure& b2);

}  // namespace softcheck::theory
