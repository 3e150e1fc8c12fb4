#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "kernels/arithmetic/tile_products.hpp"
#include "kernels/cpu/machine.hpp"

namespace softcheck::kernels::cpu {

/// The product without the terms whose score is masked: 0 times a masked value could be NaN. scores have the layout of
/// product.a.
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

/// chained_product, without the same terms.
template <class T>
void seen_chained_product(const ChainedProduct<T>& product, const T* scores, std::size_t rows, std::size_t width) {
  const TileProduct<T>& of = product.of;
  std::array<T, chain_levels> waiting;  // left nodes whose right ones are to come
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t c = 0; c < width; ++c) {
      T sum = T(0);
      std::size_t waits = 0;  // bit l: waiting[l]
      const auto add_waiting = [&](std::size_t level) {
        if ((waits >> level & 1) != 0) {
          sum = waiting[level] + sum;
          waits ^= std::size_t{1} << level;
        }
      };
      std::size_t number = product.first;
      for (std::size_t begin = 0; begin < of.depth; begin += product.chain, ++number) {
        const std::size_t end = std::min(begin + product.chain, of.depth);
        sum = T(0);
        for (std::size_t t = begin; t < end; ++t) {
          const std::size_t at = row * of.a_row + t * of.a_depth;
          if (scores[at] != -std::numeric_limits<T>::infinity()) {
            sum = std::fma(of.a[at], of.b[t * of.b_stride + c], sum);
          }
        }
        std::size_t level = 0;
        for (; (number >> level & 1) != 0; ++level) {
          add_waiting(level);
        }
        if (end < of.depth) {
          waiting[level] = sum;
          waits |= std::size_t{1} << level;
        }
      }
      for (std::size_t level = 0; level < chain_levels; ++level) {
        add_waiting(level);
      }
      T& to = of.c[row * of.c_stride + c];
      to = product.add ? to + sum : sum;
    }
  }
}

/// The product; if a row may not see every key, only the terms that it sees count.
template <class T>
void partial_product(const TileProduct<T>& product, bool partial, const T* scores, std::size_t rows,
                     std::size_t width) {
  if (partial && !all_finite(product.b, product.b_stride, product.depth, width)) {
    seen_product(product, scores, rows, width);
  } else {
    tile_product(product, rows, width);
  }
}
template <class T>
void partial_chained_product(const ChainedProduct<T>& product, bool partial, const T* scores, std::size_t rows,
                             std::size_t width) {
  const TileProduct<T>& of = product.of;
  if (partial && !all_finite(of.b, of.b_stride, of.depth, width)) {
    seen_chained_product(product, scores, rows, width);
  } else {
    chained_product(product, rows, width);
  }
}

}  // namespace softcheck::kernels::cpu
