#pragma once

#include <cstddef>

#include "kernels/arithmetic/exp_constants.hpp"
#include "kernels/cpu/machine.hpp"

namespace softcheck::kernels::cpu {

/// Virtual lanes of a block: element i of a block is added in lane i mod block_lanes, on every instruction set, and the
/// lanes are merged in halves. So a sum's bits depend only on the row, not on vectors, alignment or neighbours.
template <class T>
inline constexpr std::size_t block_lanes = 128 / sizeof(T);

/// Elements of a block: 28 additions per lane. With the merges of lanes (5) and of blocks the height stays within
/// blocks:32, see kernels/README.md.
template <class T>
inline constexpr std::size_t block_size = 28 * block_lanes<T>;

/// Sums over a block, w = exp(-D), D = (m - x) scale, all times 2^ExpConstants<T>::power_shift: in that scale no weight
/// that counts is subnormal. The weights that are exactly 1, the maximum's among them, are summed separately: S - 1
/// then keeps its relative accuracy if one maximum outweighs all other items.
template <class T>
struct BlockSums {
  T ones;        // sum w, w = 1
  T weights;     // sum w, w < 1
  T deviations;  // sum w D
  T squares;     // sum w D^2, if requested
};

// count is a multiple of block_lanes and at most block_size: the caller fills up with -inf. m is finite, x <= m or
// -inf. If x holds NaN or m is not finite, all sums of deviations are NaN, so no separate pass has to look for NaN.

/// The largest number. If x has a NaN, the result is arbitrary: see block_has_nan.
float block_maximum(const float* x, std::size_t count);
double block_maximum(const double* x, std::size_t count);

bool block_has_nan(const float* x, std::size_t count);
bool block_has_nan(const double* x, std::size_t count);

/// All but squares, which is 0.
BlockSums<float> block_sums(const float* x, std::size_t count, float m, float scale);
BlockSums<double> block_sums(const double* x, std::size_t count, double m, double scale);

BlockSums<float> block_moments(const float* x, std::size_t count, float m, float scale);
BlockSums<double> block_moments(const double* x, std::size_t count, double m, double scale);

/// out = the weights w in that scale; the same sums as block_sums. has_ones: whether x may equal m, which costs a
/// comparison. out may be x.
BlockSums<float> block_weights(const float* x, std::size_t count, float m, float scale, bool has_ones, float* out);
BlockSums<double> block_weights(const double* x, std::size_t count, double m, double scale, bool has_ones, double* out);

/// S - 1 from the sums of a row.
template <class T>
double sum_minus_one(const BlockSums<T>& sums) {
  constexpr double unscale = ExpConstants<T>::unscale;
  return (static_cast<double>(sums.ones) * unscale - 1) + static_cast<double>(sums.weights) * unscale;
}

/// 1 / S, rounded twice.
template <class T>
T normalizer(const BlockSums<T>& sums) {
  return static_cast<T>(1 / (1 + sum_minus_one(sums)));
}

/// out = the weights; returns only their sum, with the ones.
float block_totals(const float* x, std::size_t count, float m, float scale, float* out);
double block_totals(const double* x, std::size_t count, double m, double scale, double* out);

/// out = exp((x - m) scale) factor, the bits of block_weights and block_normalize. out may be x.
void block_probabilities(const float* x, std::size_t count, float m, float scale, float factor, float* out);
void block_probabilities(const double* x, std::size_t count, double m, double scale, double factor, double* out);

/// exp(z) for z <= 0, -inf included; 1 at 0.
float block_exp(float z);
double block_exp(double z);

/// out = w factor 2^-power_shift, rounded once. factor is at least 2^-40. out may be w.
void block_normalize(const float* weights, std::size_t count, float factor, float* out);
void block_normalize(const double* weights, std::size_t count, double factor, double* out);

/// out = (x - m) scale - shift. out may be x.
void block_shift(const float* x, std::size_t count, float m, float scale, float shift, float* out);
void block_shift(const double* x, std::size_t count, double m, double scale, double shift, double* out);

}  // namespace softcheck::kernels::cpu
