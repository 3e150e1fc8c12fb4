#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/arithmetic/row_products.cpp"
#include <hwy/foreach_target.h>
// foreach_target comes first: it includes this file once per instruction set.
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "kernels/arithmetic/tile_products.hpp"

HWY_BEFORE_NAMESPACE();
namespace softcheck::kernels::arithmetic {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using RowTag = hn::CappedTag<T, row_group<T>>;

// Numbers of a row that are turned at once: 16 bytes.
template <class T>
inline constexpr std::size_t transposed_rows = 16 / sizeof(T);

#if HWY_TARGET != HWY_SCALAR
// Numbers t ... of rows first, first + step, ...: 16 bytes of each, side by side.
template <class T, class D>
HWY_INLINE hn::Vec<D> quads_at(D d, const T* const* rows, std::size_t step, std::size_t t) {
  if constexpr (hn::MaxLanes(D()) * sizeof(T) == 16) {
    return hn::LoadU(d, rows[0] + t);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, quads_at<T>(half, rows + hn::MaxLanes(half) / transposed_rows<T> * step, step, t),
                       quads_at<T>(half, rows, step, t));
  }
}

// columns[c][lane] = rows[lane][t + c], for as many columns as 16 bytes hold.
template <class T>
HWY_INLINE void turn(const T* const* rows, std::size_t t, hn::Vec<RowTag<T>> (&columns)[transposed_rows<T>]) {
  const RowTag<T> d;
  constexpr std::size_t group = transposed_rows<T>;
  if constexpr (group == 4) {
    const hn::Repartition<double, RowTag<T>> pairs;
    const auto r0 = quads_at<T>(d, rows, group, t), r1 = quads_at<T>(d, rows + 1, group, t);
    const auto r2 = quads_at<T>(d, rows + 2, group, t), r3 = quads_at<T>(d, rows + 3, group, t);
    const auto low_01 = hn::BitCast(pairs, hn::InterleaveLower(d, r0, r1));
    const auto low_23 = hn::BitCast(pairs, hn::InterleaveLower(d, r2, r3));
    const auto high_01 = hn::BitCast(pairs, hn::InterleaveUpper(d, r0, r1));
    const auto high_23 = hn::BitCast(pairs, hn::InterleaveUpper(d, r2, r3));
    columns[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low_01, low_23));
    columns[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low_01, low_23));
    columns[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high_01, high_23));
    columns[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high_01, high_23));
  } else {
    const auto r0 = quads_at<T>(d, rows, group, t), r1 = quads_at<T>(d, rows + 1, group, t);
    columns[0] = hn::InterleaveLower(d, r0, r1);
    columns[1] = hn::InterleaveUpper(d, r0, r1);
  }
}
#endif

// What fits into the registers: 4 rows of 2 vectors of 32 registers; 4 of 1, or 1 of 4, of 16.
inline constexpr std::size_t row_panel_rows = 4;
template <class T, std::size_t rows>
inline constexpr std::size_t row_panel_vectors = rows == 1 || row_group<T> / hn::MaxLanes(RowTag<T>()) <= 2
                                                     ? row_group<T> / hn::MaxLanes(RowTag<T>())
                                                     : 1;

// row_panel_vectors vectors of columns of some rows of c. ahead: the rows of b before last are still to be fetched.
template <std::size_t rows, class T>
HWY_INLINE void row_panel(const RowProduct<T>& p, std::size_t row, std::size_t column,
                          [[maybe_unused]] std::size_t& ahead, [[maybe_unused]] std::size_t last) {
  const RowTag<T> d;
  using V = hn::Vec<RowTag<T>>;
  constexpr std::size_t lanes = hn::MaxLanes(RowTag<T>());
  constexpr std::size_t vectors = row_panel_vectors<T, rows>;
  const T* a = p.a + row * p.a_stride;
  const T* const* b = p.b + column;
  V sums[rows][vectors];
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t v = 0; v < vectors; ++v) {
      sums[r][v] = hn::Zero(d);
    }
  }
  std::size_t t = 0;
#if HWY_TARGET != HWY_SCALAR
  // Enough numbers per step that memory is read evenly and in order.
  const std::size_t depth = std::max<std::size_t>(p.depth, 1);
  const std::size_t rows_ahead = (vectors * lanes * transposed_rows<T> + depth - 1) / depth;
  for (; t + transposed_rows<T> <= p.depth; t += transposed_rows<T>) {
    for (const std::size_t end = std::min(ahead + rows_ahead, last); ahead < end; ++ahead) {
      for (std::size_t i = 0; i < p.depth; i += column_group<T>) {
        fetch(p.b[ahead] + i);
      }
    }
    for (std::size_t v = 0; v < vectors; ++v) {
      V columns[transposed_rows<T>];
      turn<T>(b + v * lanes, t, columns);
      for (std::size_t c = 0; c < transposed_rows<T>; ++c) {
        for (std::size_t r = 0; r < rows; ++r) {
          sums[r][v] = hn::MulAdd(hn::Set(d, a[r * p.a_stride + t + c]), columns[c], sums[r][v]);
        }
      }
    }
  }
#endif
  alignas(64) T numbers[lanes];
  for (; t < p.depth; ++t) {
    for (std::size_t v = 0; v < vectors; ++v) {
      for (std::size_t l = 0; l < lanes; ++l) {
        numbers[l] = b[v * lanes + l][t];
      }
      for (std::size_t r = 0; r < rows; ++r) {
        sums[r][v] = hn::MulAdd(hn::Set(d, a[r * p.a_stride + t]), hn::Load(d, numbers), sums[r][v]);
      }
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t v = 0; v < vectors; ++v) {
      hn::StoreU(sums[r][v], d, p.c + (row + r) * p.c_stride + column + v * lanes);
    }
  }
}

template <std::size_t most, class T>
HWY_INLINE void some_rows(const RowProduct<T>& p, std::size_t rows, std::size_t row, std::size_t width) {
  if (rows == most) {
    constexpr std::size_t step = row_panel_vectors<T, most> * hn::MaxLanes(RowTag<T>());
    std::size_t ahead = std::min(fetched_rows<T>, p.known);
    for (std::size_t column = 0; column < width; column += step) {
      row_panel<most>(p, row, column, ahead, std::min(column + step + fetched_rows<T>, p.known));
    }
  } else if constexpr (most > 1) {
    some_rows<most - 1>(p, rows, row, width);
  }
}

template <class T>
HWY_INLINE void row_product_of(const RowProduct<T>& p, std::size_t rows, std::size_t width) {
  for (std::size_t row = 0; row < rows; row += row_panel_rows) {
    some_rows<row_panel_rows>(p, std::min(row_panel_rows, rows - row), row, width);
  }
}

template <class T>
HWY_INLINE void transpose_of(const T* const* rows, std::size_t count, std::size_t depth, T* out) {
  [[maybe_unused]] const RowTag<T> d;
  constexpr std::size_t lanes = hn::MaxLanes(RowTag<T>());
  for (std::size_t j = 0; j < count; j += lanes) {
    std::size_t t = 0;
#if HWY_TARGET != HWY_SCALAR
    for (; t + transposed_rows<T> <= depth; t += transposed_rows<T>) {
      hn::Vec<RowTag<T>> columns[transposed_rows<T>];
      turn<T>(rows + j, t, columns);
      for (std::size_t c = 0; c < transposed_rows<T>; ++c) {
        hn::StoreU(columns[c], d, out + (t + c) * key_stride<T> + j);
      }
    }
#endif
    for (; t < depth; ++t) {
      for (std::size_t r = j; r < j + lanes; ++r) {
        out[t * key_stride<T> + r] = rows[r][t];
      }
    }
  }
}

// One plain function per pass and type, for the dispatch table.
void RowProduct32(const RowProduct<float>& p, std::size_t rows, std::size_t width) { row_product_of(p, rows, width); }
void RowProduct64(const RowProduct<double>& p, std::size_t rows, std::size_t width) { row_product_of(p, rows, width); }

void Transpose32(const float* const* rows, std::size_t count, std::size_t depth, float* out) {
  transpose_of<float>(rows, count, depth, out);
}
void Transpose64(const double* const* rows, std::size_t count, std::size_t depth, double* out) {
  transpose_of<double>(rows, count, depth, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::arithmetic
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels::arithmetic {

HWY_EXPORT(RowProduct32);
HWY_EXPORT(RowProduct64);
HWY_EXPORT(Transpose32);
HWY_EXPORT(Transpose64);

void row_product(const RowProduct<float>& product, std::size_t rows, std::size_t width) {
  HWY_DYNAMIC_DISPATCH(RowProduct32)(product, rows, width);
}
void row_product(const RowProduct<double>& product, std::size_t rows, std::size_t width) {
  HWY_DYNAMIC_DISPATCH(RowProduct64)(product, rows, width);
}
void transpose_rows(const float* const* rows, std::size_t count, std::size_t depth, float* out) {
  HWY_DYNAMIC_DISPATCH(Transpose32)(rows, count, depth, out);
}
void transpose_rows(const double* const* rows, std::size_t count, std::size_t depth, double* out) {
  HWY_DYNAMIC_DISPATCH(Transpose64)(rows, count, depth, out);
}

}  // namespace softcheck::kernels::arithmetic
#endif
