#pragma once

#include <cstddef>

namespace softcheck::kernels::cpu {

/// Sums over a block, d = m - x, w = exp(-beta d) without power_shift, g the incoming gradient.
template <class T>
struct GradientSums {
  T weights;     // sum w
  T gradients;   // sum w g
  T deviations;  // sum w d
  T products;    // sum w g d
};

/// The terms of a block's gradient: out = incoming w_beta (g - mean_gradient) + entropic w_1 (d - mean_deviation).
template <class T>
struct GradientTerms {
  T maximum;
  T beta;
  T probability;  // times w_beta: the probability
  T incoming;     // beta times that
  T mean_gradient;
  T entropic;  // 0 if beta does not depend on the entropy
  T mean_deviation;
};

// x and g as in block_passes.hpp: count a multiple of block_lanes, padded with -inf. Where x is -inf, g is not read,
// and results are 0 for any terms.

GradientSums<float> gradient_sums(const float* x, const float* g, std::size_t count, float m, float beta);
GradientSums<double> gradient_sums(const double* x, const double* g, std::size_t count, double m, double beta);

/// out may be g. probabilities: nullptr to leave them out.
void block_gradient(const float* x, const float* g, std::size_t count, const GradientTerms<float>& terms, float* out,
                    float* probabilities = nullptr);
void block_gradient(const double* x, const double* g, std::size_t count, const GradientTerms<double>& terms,
                    double* out, double* probabilities = nullptr);

}  // namespace softcheck::kernels::cpu
