#pragma once

#include <optional>
#include <span>
#include <vector>

#include "judge/ops/rows/judged_row.hpp"
#include "numerics/filter/row_cascade.hpp"
#include "numerics/oracles/adaptive_oracle.hpp"

namespace softcheck::proptests {

/// softmax(beta x) with beta = beta(entropy H of softmax(x)), from two cascades: one of x, for H and beta, and one of x
/// at the double theta nearest to 1 / beta. With double-doubles d = |beta theta - 1| < 2^-51, and each quantity at beta
/// differs from that at 1 / theta by a multiple of d. Much quicker than an oracle, and still enclosed.
class SharpenedRow {
 public:
  /// plain    of the logits at theta = 1, not fully masked; not kept
  /// by       the arithmetic of H's sums
  SharpenedRow(numerics::RowCascade& plain, std::span<const double> logits, numerics::EntropyDefinition definition,
               Sums by);

  /// Upper bounds of the row's statistics at beta, for adaptive_temperature_error.
  Statistics statistics(const numerics::Contract& contract, std::uint64_t rescalings) const;
  /// An upper bound of D_i = beta (m - x_i) for a visible item i.
  double deviation_bound(std::size_t i) const;
  /// D_i and p_i as arguments of a threshold. D e^-D decreases from D = 1 on, so deviations beyond 10^6 count as 10^6;
  /// both are then far below any number of a format.
  numerics::UpperBound deviation_ceiling(std::size_t i) const;
  numerics::UpperBound coefficient_ceiling(std::size_t i);
  /// p_i at the working precision, about 90 bits of which are accurate.
  numerics::Enclosure softmax(std::size_t i);
  struct Near {
    double value;
    double error;
  };
  /// |value - p_i| <= error, a few dozen 2^-53 p_i.
  Near near(std::size_t i) const;
  /// p_i by this machine's long doubles: closer, but not proved.
  long double finer(std::size_t i);

 private:
  numerics::Enclosure delta() const;
  const numerics::Enclosure& sum();

  std::span<const double> logits_;
  double maximum_;
  numerics::Enclosure beta_;
  double theta_;
  numerics::RowCascade cascade_;            // at theta_
  double distance_;                         // d
  std::optional<numerics::Enclosure> sum_;  // S at beta, on first use
  long double near_beta_ = 0, near_sum_ = 0;
  double mean_deviation_;  // an upper bound at theta_
  std::vector<numerics::ProbabilityBounds> bounds_;
};

}  // namespace softcheck::proptests
