#pragma once

#include <optional>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"
#include "theory/level_row.hpp"

namespace softcheck::theory {

/// throws   std::invalid_argument naming the function unless theta is > 0 and finite
void require_theta(const char* function, double theta);

/// softmax(beta x) of a row given by its levels, at the working precision of the moment of construction.
/// With M the largest and m the smallest logit: D_j = beta (M - x_j) >= 0, E_j = beta (x_j - m) >= 0, w_j = exp(-D_j).
class TemperedRow {
 public:
  /// beta     an enclosure of a number >= 0
  TemperedRow(const LevelRow& row, const numerics::Enclosure& beta);

  std::size_t levels() const { return counts_.size(); }
  const numerics::Enclosure& items() const { return items_; }  // n
  const numerics::Enclosure& count(std::size_t j) const { return counts_[j]; }
  const numerics::Enclosure& deviation(std::size_t j) const { return deviations_[j]; }  // D_j
  const numerics::Enclosure& rise(std::size_t j) const { return rises_[j]; }            // E_j
  const numerics::Enclosure& weight(std::size_t j) const { return weights_[j]; }        // w_j
  const numerics::Enclosure& spread() const { return deviations_.back(); }              // beta (M - m)
  const numerics::Enclosure& sum() const { return sum_; }                               // S = sum count_j w_j
  const numerics::Enclosure& mean_deviation() const { return mean_deviation_; }         // E[D]
  const numerics::Enclosure& log_sum() const { return log_sum_; }                       // ln S
  numerics::Enclosure coefficient(std::size_t j) const { return weights_[j] / sum_; }
  numerics::Enclosure entropy() const { return log_sum_ + mean_deviation_; }
  /// Var(D) = beta^2 Var(x), as a sum of squares: certainly >= 0, and 0 exactly where all logits are equal.
  numerics::Enclosure variance() const;

 private:
  std::vector<numerics::Enclosure> counts_, deviations_, rises_, weights_;
  numerics::Enclosure items_, sum_, mean_deviation_, log_sum_;
};

/// Two inverse temperatures of one row, beta <= beta + step. step >= 0 is stored separately: a row may be so wide that
/// the rounding error of a difference of betas would overflow an exponential.
struct BetaStep {
  numerics::Enclosure beta;
  numerics::Enclosure step;
};

/// The logit x for which entropies of the row at beta and above are magnified by exp(beta (M - x)), where they would
/// leave even the exponent range of MPFR: the second largest. None while exp(-beta (M - x)) is an ordinary number, and
/// none for a row of equal logits.
std::optional<double> magnifying_logit(const LevelRow& row, const numerics::Enclosure& beta);

/// H(softmax(b x)) - ln K at b = beta + step, K being the number of items that share the maximum, times exp(beta (M -
/// magnifying)): ln K would drown the entropy of a sharp row, and cancels where two temperatures are compared.
numerics::Enclosure excess_entropy(const LevelRow& row, const BetaStep& at, const std::optional<double>& magnifying);

/// H(softmax(beta x)) - H(softmax((beta + step) x)), times exp(beta (M - x)) if there is a magnifying logit x. Its sign
/// is decided for every finite row: the result is the intersection of the difference itself and of the mean-value form
///   integral of b Var_b over [b1, b2]  in  (b2^2 - b1^2)/2 Var,   K/S E[(M - x)^2] <= Var <= E[(M - x)^2],
/// whose terms have one sign and are made of exact differences.
numerics::Enclosure entropy_drop(const LevelRow& row, const BetaStep& betas);

}  // namespace softcheck::theory
