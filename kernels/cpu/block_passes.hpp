#pragma once

#include <cstddef>

namespace softcheck::kernels {

/// Virtual lanes of a block: element i of a block is added in lane i mod block_lanes, on every instruction set, and the
/// lanes are merged in halves. So a sum's bits depend on the row alone, not on vectors, alignment or neighbours.
template <class T>
inline constexpr std::size_t block_lanes = 128 / sizeof(T);

/// Elements of a block: 28 additions a lane. With the merges of lanes (5), of the left-out maximum (1) and of blocks
/// the height stays within blocks:32, see kernels/README.md.
template <class T>
inline constexpr std::size_t block_size = 28 * block_lanes<T>;

template <class T>
struct BlockMaximum {
  T maximum;  // meaningless where has_nan
  bool has_nan;
};

/// sum w and sum w D over a block, w = exp(-D), D = (m - x) scale, both times 2^ExpConstants<T>::power_shift: in that
/// scale no weight that counts is subnormal.
template <class T>
struct BlockSums {
  T weights;
  T deviations;
};

// count is a multiple of block_lanes and at most block_size: the caller fills up with -inf. m is finite, x <= m or
// -inf. left_out is the place whose weight counts as 0, the maximum's; none_left_out where that is in another block.
inline constexpr std::size_t none_left_out = static_cast<std::size_t>(-1);

BlockMaximum<float> block_maximum(const float* x, std::size_t count);
BlockMaximum<double> block_maximum(const double* x, std::size_t count);

/// The first place of value in x; count where it has none.
std::size_t block_find(const float* x, std::size_t count, float value);
std::size_t block_find(const double* x, std::size_t count, double value);

BlockSums<float> block_sums(const float* x, std::size_t count, float m, float scale, std::size_t left_out);
BlockSums<double> block_sums(const double* x, std::size_t count, double m, double scale, std::size_t left_out);

/// out = the weights w in that scale; returns their sum, the same bits as block_sums. out may be x.
float block_weights(const float* x, std::size_t count, float m, float scale, std::size_t left_out, float* out);
double block_weights(const double* x, std::size_t count, double m, double scale, std::size_t left_out, double* out);

/// out = w factor, brought back to scale: the product, then one more rounding where that is subnormal. out may be w.
void block_normalize(const float* weights, std::size_t count, float factor, float* out);
void block_normalize(const double* weights, std::size_t count, double factor, double* out);

/// out = (x - m) scale - shift. out may be x.
void block_shift(const float* x, std::size_t count, float m, float scale, float shift, float* out);
void block_shift(const double* x, std::size_t count, double m, double scale, double shift, double* out);

}  // namespace softcheck::kernels
