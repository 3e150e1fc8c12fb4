#pragma once

#include <optional>
#include <span>
#include <vector>

#include "judge/ops/rows/judged_row.hpp"
#include "numerics/filter/row_cascade.hpp"
#include "numerics/oracles/adaptive_oracle.hpp"

namespace softcheck::proptests {

/// softmax(beta x), beta = beta(H of softmax(x)), from two cascades: of x, which gives H and beta, and of x at the
/// double theta nearest to 1 / beta. |beta theta - 1| = d, less than 2^-51 by double-doubles, and every quantity of the
/// row at beta follows from that at 1 / theta to within a multiple of d: far quicker than an oracle, and still
/// enclosed.
class SharpenedRow {
 public:
  /// plain    of the logits at theta = 1, not fully masked; not kept
  /// by       the sums that H is made of
  SharpenedRow(numerics::RowCascade& plain, std::span<const double> logits, numerics::EntropyDefinition definition,
               Sums by);

  /// Upper bounds of the row at beta, as adaptive_temperature_error wants them.
  Statistics statistics(const numerics::Contract& contract, std::uint64_t rescalings) const;
  /// No less than D_i = beta (m - x_i); i visible, as below.
  double deviation_bound(std::size_t i) const;
  /// D_i and p_i as a threshold takes them: D e^-D falls from D = 1 on, so that a deviation beyond 10^6, where both are
  /// far below any number, counts as 10^6.
  numerics::UpperBound deviation_ceiling(std::size_t i) const;
  numerics::UpperBound coefficient_ceiling(std::size_t i);
  /// p_i at the working precision, about 90 bits of it by double-doubles.
  numerics::Enclosure softmax(std::size_t i);
  struct Near {
    double value;
    double error;
  };
  /// |value - p_i| <= error, a few dozen 2^-53 p_i.
  Near near(std::size_t i) const;
  /// p_i by the long doubles of this machine: closer, but not proved.
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
  std::optional<numerics::Enclosure> sum_;  // S at beta, when first asked for
  long double near_beta_ = 0, near_sum_ = 0;
  double mean_deviation_;  // an upper bound at theta_
  std::vector<numerics::ProbabilityBounds> bounds_;
};

}  // namespace softcheck::proptests
