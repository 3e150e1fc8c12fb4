#pragma once

#include <cstddef>

namespace softcheck::kernels::strict {

/// Passes of the tree kernels over the items of a tile, 128 V of them, on the machine's best vectors.
/// with_weight, tree_weight and paired_products are those of kernels/block/tree_order.hpp.
struct TreePasses {
  /// The largest of count items and of a number, NaN if one of them is NaN. count: a multiple of 128.
  float (*largest)(const float* x, std::size_t count, float so_far);
  /// z = with_weight((x - m) scale), w = tree_weight(z).
  void (*weights)(const float* x, std::size_t count, float maximum, float scale, float* z, float* w);
  /// The sum of count items of a tile in its order, count / 128 of them for each lane and stripe. Overwrites x.
  float (*sum)(float* x, std::size_t count);
  /// The same for w z: paired_products(), then sum(). Overwrites z.
  float (*products)(const float* w, float* z, std::size_t count);
};
const TreePasses& tree_passes();

}  // namespace softcheck::kernels::strict
