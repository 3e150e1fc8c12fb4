#pragma once

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/block/entropy.hpp"

// The gradient with respect to scores x that (adaptive) softmax makes weights of, from a, that with respect to these.
namespace softcheck::kernels {

/// Of a query, kept between the two passes: what its scores' gradients depend on. maximum is NaN where the query has no
/// result, -inf where it sees no key.
template <class T>
struct QueryGradient {
  T maximum;
  T beta;
  T factor;      // 1 / S at beta
  T mean;        // sum p a, a = d_out v of a key
  T own_factor;  // 1 / S and T / S at beta = 1
  T own_mean;
  T of_entropy;  // dL/dH
};

/// Of some keys at beta, w = exp(-beta D), D = m - x: sums of w, w a, w D and w a D.
template <class T>
struct GradientSums {
  CompensatedSum<T> weights, gradients, deviations, products;
};

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

/// Of one visible item, of has its maximum and beta already.
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

/// What a score weighs, and dL/d(score).
template <class T>
struct ScoreGradient {
  T weight;  // -1 where the key is hidden, so that nobody looks at it
  T slope;
};

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

/// What the sums over all of a query's keys give, of has its maximum and beta already. all: at beta = 1.
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
