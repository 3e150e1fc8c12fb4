#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "numerics/enclosures/enclosure.hpp"
#include "numerics/filter/row_filter.hpp"
#include "numerics/rounding/rounding_gradient.hpp"

/// The exact gradients of softmax and log-softmax from a saved output y and an upstream gradient g, which are exact
/// inputs.
namespace softcheck::numerics {

/// dx_j = y_j (g_j - M), M = sum y g: enclosures at the working precision at construction.
///
/// error    width of M at most 2^(2 - precision) sum |y g|; M may cancel, and a higher precision then narrows it
/// cost     two products per item at construction
class SoftmaxGradientOracle {
 public:
  /// y, g     (n) finite, of any size and sign; a masked item has y = 0
  /// throws   std::invalid_argument if the lengths differ, a number is not finite or n is 0
  SoftmaxGradientOracle(std::span<const double> y, std::span<const double> g);

  std::size_t size() const { return y_.size(); }
  const Enclosure& mean() const { return mean_; }                            // M
  const Enclosure& product_magnitude() const { return product_magnitude_; }  // sum |y g|
  Enclosure gradient(std::size_t j) const;                                   // y_j (g_j - M)
  Enclosure metric(std::size_t j) const;                                     // |y_j| (|g_j| + sum |y g|)
  /// For SoftmaxGradientThreshold.
  template <class T>
  SoftmaxGradientRow<T> row() const;

 private:
  std::vector<double> y_, g_;
  unsigned precision_;
  Enclosure mean_;
  Enclosure product_magnitude_;
};

/// dx_j = g_j - e^(y_j) T, T = sum g: as above. y_j = -inf, a masked item, gives g_j.
class LogSoftmaxGradientOracle {
 public:
  /// y        (n) finite or -inf          g   (n) finite
  /// throws   std::invalid_argument if the lengths differ, for other numbers, or if n is 0
  LogSoftmaxGradientOracle(std::span<const double> y, std::span<const double> g);

  std::size_t size() const { return y_.size(); }
  const Enclosure& total() const { return total_; }                            // T
  const Enclosure& upstream_magnitude() const { return upstream_magnitude_; }  // sum |g|
  Enclosure power(std::size_t j) const;                                        // e^(y_j)
  Enclosure gradient(std::size_t j) const;                                     // g_j - e^(y_j) T
  Enclosure metric(std::size_t j) const;                                       // |g_j| + e^(y_j) sum |g|
  /// For LogSoftmaxGradientThreshold.
  template <class T>
  LogSoftmaxGradientRow<T> row() const;

 private:
  std::vector<double> y_, g_;
  unsigned precision_;
  Enclosure total_;
  Enclosure upstream_magnitude_;
};

/// The first stage for long rows: the same gradients in double with certified errors; derivation:
/// docs/tolerances/softmax_gradient.md. Use the oracle for values closer to their threshold.
///
/// y, g     as for the oracles
/// error    2^-51 |dx_j| + (n 2^-53)^2 of the metric, for log-softmax plus 2^-49 e^(y_j) |T|; infinite if a double
///          overflows
/// throws   std::invalid_argument as the oracles
std::vector<Approximation> approximate_softmax_gradient(std::span<const double> y, std::span<const double> g);
std::vector<Approximation> approximate_log_softmax_gradient(std::span<const double> y, std::span<const double> g);

}  // namespace softcheck::numerics
