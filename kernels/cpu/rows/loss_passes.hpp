#pragma once

#include <cstddef>

namespace softcheck::kernels::cpu {

// Blocks as in block_passes.hpp: count is a multiple of block_lanes and at most block_size. Each pass names the
// caller's padding. Sums use virtual lanes, in the format's own precision.

/// sum (m - x). Filled up with m.
float block_distance(const float* x, std::size_t count, float m);
double block_distance(const double* x, std::size_t count, double m);

/// sum x. Filled up with 0.
float block_total(const float* x, std::size_t count);
double block_total(const double* x, std::size_t count);

/// sum y g. Either is filled up with 0.
float block_product(const float* y, const float* g, std::size_t count);
double block_product(const double* y, const double* g, std::size_t count);

/// values = (alpha values - subtrahend) factor.
void block_slopes(float* values, std::size_t count, float alpha, float subtrahend, float factor);
void block_slopes(double* values, std::size_t count, double alpha, double subtrahend, double factor);

/// out = y (g - mean). out may be y or g.
void block_softmax_gradient(const float* y, const float* g, std::size_t count, float mean, float* out);
void block_softmax_gradient(const double* y, const double* g, std::size_t count, double mean, double* out);

/// out = g - exp(y) total. out may be y or g. y is at most largest_logarithm, or NaN, which gives NaN.
template <class T>
inline constexpr T largest_logarithm = sizeof(T) == 4 ? T(40) : T(300);
void block_log_gradient(const float* y, const float* g, std::size_t count, float total, float* out);
void block_log_gradient(const double* y, const double* g, std::size_t count, double total, double* out);

}  // namespace softcheck::kernels::cpu
