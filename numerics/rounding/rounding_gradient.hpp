#pragma once

#include <cstdint>

#include "numerics/rounding/rounding_operations.hpp"

/// B12 and B13: the backward passes of softmax and log-softmax. Proofs: docs/tolerances/softmax_gradient.md. The saved
/// output y and the upstream gradient g are exact inputs; y may have any sum.
namespace softcheck::numerics {

/// The quantities of a row of y and g for B12, each an upper bound. Items whose y or g is exactly 0 add an exact zero.
template <class T>
struct SoftmaxGradientRow {
  std::uint64_t size = 0;   // n >= 1
  std::uint64_t terms = 0;  // items with y g != 0
  T product_magnitude{};    // sum |y_i g_i|
  T mean_magnitude{};       // |M|, M = sum y_i g_i
  T largest_coefficient{};  // max |y_i|
  T largest_upstream{};     // max |g_i|
};

/// B12: |computed dx_j - y_j (g_j - M)|, M = sum y g, for kernels that compute y (g - M) or y g - y M, with or without
/// fused multiply-adds, with the sum in the contract's order (sum=) and products stored by products=; by
/// gradient=jacobian for kernels that multiply the matrix of y_i [i = j] - y_i y_j by g.
///
/// contract    acc, sum, subnormal, products, input (of y and g), output; there is no exponential
/// infinite    if e^(k lambda) is no double; overflows are not covered
template <class T>
class SoftmaxGradientThreshold {
 public:
  /// throws   std::invalid_argument if row.size is 0 or row.terms exceeds it
  SoftmaxGradientThreshold(const Contract& contract, const SoftmaxGradientRow<T>& row);

  /// coefficient   |y_j|          upstream   |g_j|          gradient   |dx_j|, exact; each an upper bound
  ScalarThreshold<T> element(const T& coefficient, const T& upstream, const T& gradient) const;
  /// |y_j| (|g_j| + sum |y g|): what the threshold is compared with (is_vacuous), since dx_j may cancel to 0.
  T metric(const T& coefficient, const T& upstream) const;

 private:
  void set_jacobian(const Contract& contract);

  OperationModel<T> model_;
  SoftmaxGradientRow<T> row_;
  bool jacobian_ = false;
  T term_unit_;      // a: reading, rounding and storing a product
  T term_floor_;     // its underflow loss
  T mean_rounding_;  // of M, without underflow
  T mean_floor_;
  // Constants of all items: an exponential costs as much as ten sums.
  T upstream_rounding_, difference_rounding_, rounded_mean_, rounded_mean_floor_;
  T lost_growth_, term_loss_;
};

/// The quantities of a row of g for B13, each an upper bound.
template <class T>
struct LogSoftmaxGradientRow {
  std::uint64_t size = 0;   // n >= 1
  std::uint64_t terms = 0;  // items with g != 0
  T upstream_magnitude{};   // sum |g_i|
  T total_magnitude{};      // |T|, T = sum g_i
};

/// B13: |computed dx_j - (g_j - e^(y_j) T)|, T = sum g. The exponential's argument is y_j itself: A - 1 roundings,
/// without the subtraction that A includes (base 2: A = 2).
///
/// contract    acc, exp, sum, subnormal, input (of y and g), output
template <class T>
class LogSoftmaxGradientThreshold {
 public:
  /// throws   std::invalid_argument if row.size is 0 or row.terms exceeds it
  LogSoftmaxGradientThreshold(const Contract& contract, const LogSoftmaxGradientRow<T>& row);

  /// The part of an element's threshold that depends only on y_j.
  struct PowerTerms {
    T rounding, floor;
  };
  /// power      e^(y_j); 0 for y_j = -inf       argument   |y_j|; any value for y_j = -inf
  /// upstream   |g_j|                           gradient   |dx_j|, exact; each an upper bound
  PowerTerms terms(const T& power, const T& argument) const;
  ScalarThreshold<T> element(const PowerTerms& terms, const T& upstream, const T& gradient) const;
  ScalarThreshold<T> element(const T& power, const T& argument, const T& upstream, const T& gradient) const {
    return element(terms(power, argument), upstream, gradient);
  }
  /// |g_j| + e^(y_j) sum |g|.
  T metric(const T& power, const T& upstream) const;

 private:
  OperationModel<T> model_;
  LogSoftmaxGradientRow<T> row_;
  T argument_slope_;  // the argument's error is this times |y_j|
  T total_rounding_;  // of T, without underflow
  T total_floor_;
  T upstream_rounding_, floor_;  // of an item with power 0
};

}  // namespace softcheck::numerics
