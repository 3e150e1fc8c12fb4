#pragma once

#include <cmath>
#include <limits>

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/block_passes.hpp"
#include "kernels/cpu/rows/gradient_passes.hpp"

namespace softcheck::kernels::cpu {

/// A row's sums, of blocks in the accumulator's format, in double.
struct GradientTotals {
  double maximum = -std::numeric_limits<double>::infinity();  // of the blocks: none yet
  GradientSums<double> sums{0, 0, 0, 0};

  /// A block relative to its own maximum. Unless all blocks share one maximum, beta must be 1: deviations and products
  /// are then not used.
  template <class T>
  void add(T block_maximum, const GradientSums<T>& block) {
    const auto m = static_cast<double>(block_maximum);
    double factor = 1;
    if (m > maximum) {
      const double kept = block_exp(maximum - m);
      sums.weights *= kept;
      sums.gradients *= kept;
      maximum = m;
    } else if (m < maximum) {
      factor = block_exp(m - maximum);
    }
    sums.weights += factor * static_cast<double>(block.weights);
    sums.gradients += factor * static_cast<double>(block.gradients);
    sums.deviations += static_cast<double>(block.deviations);
    sums.products += static_cast<double>(block.products);
  }
};

/// The terms of a row of softmax(beta x).
///
/// sum, mean_deviation    S and T / S at beta = 1; not read if beta has no slope
/// by_lse                 the gradient with respect to the row's log-sum-exp; 0 if beta has a slope
template <class T>
GradientTerms<T> gradient_terms(const GradientTotals& totals, const AdaptiveBeta& beta, double sum,
                                double mean_deviation, double by_lse = 0) {
  const GradientSums<double>& s = totals.sums;
  const T rounded_beta = static_cast<T>(beta.value);
  const double mean_gradient = s.gradients / s.weights;
  GradientTerms<T> terms{static_cast<T>(totals.maximum),
                         rounded_beta,
                         static_cast<T>(1 / s.weights),
                         static_cast<T>(static_cast<double>(rounded_beta) / s.weights),
                         static_cast<T>(mean_gradient - by_lse),
                         T(0),
                         T(0)};
  if (beta.slope != 0) {
    const double by_beta = mean_gradient * (s.deviations / s.weights) - s.products / s.weights;
    terms.entropic = static_cast<T>(beta.slope * by_beta / sum);
    terms.mean_deviation = static_cast<T>(mean_deviation);
  }
  return terms;
}

/// The terms of a row without a sum: all 0 for a fully masked row; NaN at every visible item if the softmax is NaN.
template <class T>
GradientTerms<T> without_sum(bool undefined) {
  const T value = undefined ? std::numeric_limits<T>::quiet_NaN() : T(0);
  return {T(0), T(1), value, value, value, T(0), T(0)};
}

/// The terms of a row of softmax(x) whose log-sum-exp is known: p = exp(x - lse).
///
/// lse             -inf: the row is fully masked; NaN or +inf: it has no softmax
/// mean_gradient   sum p g, less the gradient with respect to lse
template <class T>
GradientTerms<T> saved_terms(double lse, double mean_gradient) {
  if (!std::isfinite(lse)) {
    return without_sum<T>(!(lse < 0));
  }
  return {static_cast<T>(lse), T(1), T(1), T(1), static_cast<T>(mean_gradient), T(0), T(0)};
}

}  // namespace softcheck::kernels::cpu
