#pragma once

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/block/entropy.hpp"

// The gradient of (adaptive) softmax with respect to its scores x, from a_j = dL/dp_j, the gradient with respect to its
// weights. With p = softmax(beta x), r = softmax(x), D_j = m - x_j, and S and T of the scores at beta = 1:
//
//     dL/dx_j = beta p_j (a_j - sum p a) + dL/dH r_j (D_j - T / S)
//     dL/dH   = beta'(H) dL/dbeta,   dL/dbeta = sum p_j (a_j - sum p a) (x_j - m)
//
// because dH/dx_j = -r_j (ln r_j + H) = r_j (D_j - T / S). Plain softmax has beta = 1 and no second term. Attention
// backward has a_j = d_out v_j. The errors are bounded in docs/tolerances/attention_gradient.md, which the tests of the
// CPU kernels and of these bodies share (proptests/tests/kernels/attention_gradient_test.cpp).
namespace softcheck::kernels {

/// The seven numbers of a query, or of a row, from which score_gradient computes dL/dx_j. Attention backward keeps them
/// in global memory from the queries' pass to the keys' pass. maximum is NaN if a score is NaN or +inf: such a query
/// has no result. It is -inf if the query sees no key; the other numbers are then not used.
template <class T>
struct QueryGradient {
  T maximum;  // m
  T beta;
  T factor;      // 1 / S at beta
  T mean;        // sum p a, a = d_out v of a key
  T own_factor;  // 1 / S and T / S at beta = 1
  T own_mean;
  T of_entropy;  // dL/dH
};

/// Sums over some keys, with w = exp(-beta D): of w, w a, w D and w a D, in this order. Plain softmax adds nothing to
/// the last two.
template <class T>
struct GradientSums {
  CompensatedSum<T> weights, gradients, deviations, products;
};

/// The sums of two sets of keys together, as the function that merged_by_block() takes.
template <class T>
struct MergedGradientSums {
  SOFTCHECK_BODY GradientSums<T> operator()(GradientSums<T> left, const GradientSums<T>& right) const {
    left.weights.add(right.weights);
    left.gradients.add(right.gradients);
    left.deviations.add(right.deviations);
    left.products.add(right.products);
    return left;
  }
};

/// Adds one visible item, of score x and gradient a, to a thread's sums. It reads of.maximum, finite, and of.beta.
template <bool adaptive, class T>
SOFTCHECK_BODY void add_gradient(GradientSums<T>& own, const QueryGradient<T>& of, T x, T a) {
  const T z = x - of.maximum;
  const T w = exponential(z * of.beta);
  const T wa = w * a;
  own.weights.add(w);
  own.gradients.add(wa);
  if (adaptive && w > T(0)) {
    own.deviations.add(w * -z);
    own.products.add(wa * -z);
  }
}

/// The weight p_j of a score, and dL/dx_j.
template <class T>
struct ScoreGradient {
  T weight;  // -1 if the key is hidden from the query: every thread then skips the key
  T slope;
};

/// p_j and dL/dx_j of a visible score x with gradient a. Both are NaN if the query has no result.
template <bool adaptive, class T>
SOFTCHECK_BODY ScoreGradient<T> score_gradient(const QueryGradient<T>& of, T x, T a) {
  if (!(of.maximum < std::numeric_limits<T>::infinity())) return {not_a_number<T>(), not_a_number<T>()};
  const T z = x - of.maximum;
  const T p = exponential(z * of.beta) * of.factor;
  T slope = p * (a - of.mean);
  if constexpr (adaptive) {
    // dH/dx = -r (ln r + H) = r (D - T / S), r the weights at beta = 1.
    const T r = exponential(z) * of.own_factor;
    slope = fused(of.beta, slope, r > T(0) ? of.of_entropy * (r * (-z - of.own_mean)) : T(0));
  }
  return {p, slope};
}

/// Computes the numbers of a query or row, except maximum and beta, in double, and rounds them into of.
///
/// all             the statistics of the scores at beta = 1
/// sums            over all of the query's keys, at beta
/// slope_of_beta   beta'(H) (arithmetic::adaptive_beta_and_slope); not used where not adaptive
template <bool adaptive, class T>
SOFTCHECK_BODY void complete(QueryGradient<T>& of, const RowStatistics<T>& all, const GradientSums<T>& sums,
                             double slope_of_beta) {
  const double sum = in_double(sums.weights), mean = in_double(sums.gradients) / sum;
  of.factor = static_cast<T>(1 / sum);
  of.mean = static_cast<T>(mean);
  if constexpr (adaptive) {
    const double own_sum = 1 + in_double(all.weights);
    of.own_factor = static_cast<T>(1 / own_sum);
    of.own_mean = static_cast<T>(in_double(all.deviations) / own_sum);
    // dL/dbeta = sum p (a - mean) (x - m).
    const double of_beta = (mean * in_double(sums.deviations) - in_double(sums.products)) / sum;
    of.of_entropy = static_cast<T>(of_beta * slope_of_beta);
  }
}

}  // namespace softcheck::kernels
