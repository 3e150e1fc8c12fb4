#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/arithmetic/tile_products.hpp"
#include "kernels/cpu/machine.hpp"

namespace softcheck::kernels::cpu {

/// product, without the terms whose score says that they are not seen: 0 times what is not seen could be NaN. scores
/// lie as product.a does.
template <class T>
void seen_product(const TileProduct<T>& product, const T* scores, std::size_t rows, std::size_t width) {
  for (std::size_t row = 0; row < rows; ++row) {
    T* out = product.c + row * product.c_stride;
    std::fill(out, out + width, T(0));
    for (std::size_t t = 0; t < product.depth; ++t) {
      const std::size_t at = row * product.a_row + t * product.a_depth;
      if (scores[at] == -std::numeric_limits<T>::infinity()) {
        continue;
      }
      for (std::size_t c = 0; c < width; ++c) {
        out[c] = std::fma(product.a[at], product.b[t * product.b_stride + c], out[c]);
      }
    }
  }
}

/// Where a row that takes part may not see what it is multiplied with, only what is seen counts.
template <class T>
void partial_product(const TileProduct<T>& product, bool partial, const T* scores, std::size_t rows,
                     std::size_t width) {
  if (partial && !all_finite(product.b, product.b_stride, product.depth, width)) {
    seen_product(product, scores, rows, width);
  } else {
    tile_product(product, rows, width);
  }
}

}  // namespace softcheck::kernels::cpu
