#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/arithmetic/exp_constants.hpp"
#include "kernels/block/context.hpp"
#include "kernels/block/exponential.hpp"

// The order in which the tree kernels add the items of a row: a function of the row's length and of the element's size
// alone. Item i has the index
//
//     i = v + V (lane + 32 (stripe + 4 tile)),    V = 16 bytes / element
//
// Neighbours are added in pairs, their sums in pairs, and so on: first over v, then stripes, lanes and tiles. Zeros
// stand behind the last item, so an item passes at most ceil(log2 n) additions that may round: sum=tree. How a row is
// laid on threads, warps and blocks does not matter as long as each holds an aligned power of two of tiles.
namespace softcheck::kernels {

/// Items that a thread moves by one instruction: V.
template <class Element>
inline constexpr int vector_items = 16 / static_cast<int>(sizeof(Element));
/// Vectors of a thread in a tile.
inline constexpr int stripes = 4;
/// Items of a tile: 2 KiB of a row.
template <class Element>
inline constexpr int tile_items = vector_items<Element>* stripes* warp_size;

/// x[0] to x[count - 1] added in pairs; count is a power of two.
template <int count>
SOFTCHECK_BODY float added_in_pairs(const float* x) {
  if constexpr (count == 1) {
    return x[0];
  } else {
    return added_in_pairs<count / 2>(x) + added_in_pairs<count / 2>(x + count / 2);
  }
}

/// The sums of aligned ranges of one size (a tile, or all that a block holds), in the order of their indices, added in
/// pairs with zeros behind the last.
///
/// Places   memory of one number for each level of the tree: load(level), store(level, x)
template <class Places>
struct PairedSums {
  Places places;
  std::int64_t count = 0;

  SOFTCHECK_BODY void add(float sum) {
    int level = 0;
    for (; (count >> level & 1) != 0; ++level) sum = places.load(level) + sum;
    places.store(level, sum);
    ++count;
  }
  SOFTCHECK_BODY float total() {
    float sum = 0;
    for (int level = 0; count >> level != 0; ++level) {
      if ((count >> level & 1) != 0) sum = places.load(level) + sum;
    }
    return sum;
  }
};

/// z, or the largest argument with the weight 0 if z is below it or NaN.
SOFTCHECK_BODY float with_weight(float z) { return fmaxf(z, arithmetic::ExpConstants<float>::vanishing); }

/// exp(z) 2^64 by the operations of scaled_exponential(), without its selection: vanishing gives exactly 0.
///
/// z        in [vanishing, 0]: with_weight(z) of any z <= 0
/// error    relative, at most 1.75 u, as scaled_exponential(); below lowest the result is less than 2^-94
SOFTCHECK_BODY float tree_weight(float z) {
  using C = arithmetic::ExpConstants<float>;
  const float rounded = fused(z, C::log2_e, C::rounder);
  const float k = rounded - C::rounder;
  const float r = fused(-k, C::ln2_low, fused(-k, C::ln2_high, z));
  const float tail = fused(r * r, exponential_tail<float>(r), r);
  return (1.0F + tail) * std::bit_cast<float>(std::bit_cast<std::uint32_t>(rounded) << C::significand_bits);
}

/// Two neighbours' terms w z of T, added: w1 z1 + w0 z0 in a product and an fma.
SOFTCHECK_BODY float paired_products(float w0, float z0, float w1, float z1) { return fused(w1, z1, w0 * z0); }

}  // namespace softcheck::kernels
