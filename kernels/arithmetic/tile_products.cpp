#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/arithmetic/tile_products.cpp"
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
using ColumnTag = hn::CappedTag<T, column_group<T>>;

// How many vectors make a column group, and how many rows fit into the registers: with 32 registers 6 rows of 4
// vectors; with 16, 6 rows of 2 or 2 rows of 4.
template <class T>
inline constexpr std::size_t group_vectors = column_group<T> / hn::MaxLanes(ColumnTag<T>());
template <class T>
inline constexpr std::size_t panel_vectors = group_vectors<T> == 1 ? 4 : group_vectors<T>;
template <class T>
inline constexpr std::size_t panel_rows = group_vectors<T> <= 2 ? 6 : 2;

// So far ahead, in steps of the depth.
inline constexpr std::size_t depth_ahead = 48;

template <std::size_t rows, std::size_t vectors, class V>
HWY_INLINE void set_zero(V zero, V (&sums)[rows][vectors]) {
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t v = 0; v < vectors; ++v) {
      sums[r][v] = zero;
    }
  }
}

// Each element is a chain of fused multiply-adds over steps of the depth: the same on every width and panel.
template <std::size_t rows, std::size_t vectors, class T, class V>
HWY_INLINE void add_steps(const TileProduct<T>& p, const T* a, const T* b, std::size_t steps,
                          V (&sums)[rows][vectors]) {
  const ColumnTag<T> d;
  constexpr std::size_t lanes = hn::MaxLanes(ColumnTag<T>());
  for (std::size_t t = 0; t < steps; ++t, b += p.b_stride) {
    V columns[vectors];
    for (std::size_t v = 0; v < vectors; ++v) {
      if constexpr (rows == 1) {
        if (t + depth_ahead < steps) {
          fetch(b + depth_ahead * p.b_stride + v * lanes);
        }
      }
      columns[v] = hn::LoadU(d, b + v * lanes);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      const V x = hn::Set(d, a[r * p.a_row + t * p.a_depth]);
      for (std::size_t v = 0; v < vectors; ++v) {
        sums[r][v] = hn::MulAdd(x, columns[v], sums[r][v]);
      }
    }
  }
}

// to = sums, of some rows.
template <std::size_t rows, std::size_t vectors, class T, class V>
HWY_INLINE void store_panel(const V (&sums)[rows][vectors], T* to, std::size_t stride) {
  const ColumnTag<T> d;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t v = 0; v < vectors; ++v) {
      hn::StoreU(sums[r][v], d, to + r * stride + v * hn::MaxLanes(ColumnTag<T>()));
    }
  }
}
// sums += from.
template <std::size_t rows, std::size_t vectors, class T, class V>
HWY_INLINE void add_panel(const T* from, std::size_t stride, V (&sums)[rows][vectors]) {
  const ColumnTag<T> d;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t v = 0; v < vectors; ++v) {
      sums[r][v] = hn::Add(hn::LoadU(d, from + r * stride + v * hn::MaxLanes(ColumnTag<T>())), sums[r][v]);
    }
  }
}

template <std::size_t rows, std::size_t vectors, class T>
HWY_INLINE void product_panel(const TileProduct<T>& p, std::size_t row, std::size_t column) {
  const ColumnTag<T> d;
  hn::Vec<ColumnTag<T>> sums[rows][vectors];
  set_zero(hn::Zero(d), sums);
  add_steps(p, p.a + row * p.a_row, p.b + column, p.depth, sums);
  store_panel(sums, p.c + row * p.c_stride + column, p.c_stride);
}

template <std::size_t rows, std::size_t vectors, class T>
HWY_INLINE void chained_panel(const ChainedProduct<T>& product, std::size_t row, std::size_t column) {
  const ColumnTag<T> d;
  const TileProduct<T>& p = product.of;
  constexpr std::size_t width = vectors * hn::MaxLanes(ColumnTag<T>());
  T* c = p.c + row * p.c_stride + column;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < width; i += column_group<T>) {
      fetch(c + r * p.c_stride + i);
    }
  }
  hn::Vec<ColumnTag<T>> sums[rows][vectors];
  set_zero(hn::Zero(d), sums);
  alignas(64) T waiting[chain_levels][rows * width];  // left nodes whose right ones are to come
  std::size_t waits = 0;                              // bit l: waiting[l]
  std::size_t t = 0;
  for (std::size_t number = product.first; t < p.depth; ++number) {
    const std::size_t steps = std::min(product.chain, p.depth - t);
    set_zero(hn::Zero(d), sums);
    add_steps(p, p.a + row * p.a_row + t * p.a_depth, p.b + t * p.b_stride + column, steps, sums);
    t += steps;
    std::size_t level = 0;
    for (; (number >> level & 1) != 0; ++level) {
      if ((waits >> level & 1) != 0) {
        add_panel(waiting[level], width, sums);
        waits ^= std::size_t{1} << level;
      }
    }
    if (t < p.depth) {
      store_panel(sums, waiting[level], width);
      waits |= std::size_t{1} << level;
    }
  }
  for (std::size_t level = 0; waits >> level != 0; ++level) {
    if ((waits >> level & 1) != 0) {
      add_panel(waiting[level], width, sums);
    }
  }
  if (product.add) {
    add_panel(c, p.c_stride, sums);
  }
  store_panel(sums, c, p.c_stride);
}

HWY_INLINE void fetch_lines(RowsAhead* ahead) {
  constexpr std::size_t lines = 16, line = 64;
  for (std::size_t i = 0; ahead != nullptr && ahead->rows != 0 && i < lines; ++i) {
    fetch(ahead->row + ahead->done);
    ahead->done += line;
    if (ahead->done >= ahead->bytes) {
      ahead->done = 0;
      ahead->row += ahead->stride;
      --ahead->rows;
    }
  }
}

// rows (at most most) rows, as many columns as vectors hold.
template <std::size_t most, std::size_t vectors, class T>
HWY_INLINE void product_rows(const TileProduct<T>& p, std::size_t rows, std::size_t row, std::size_t column) {
  if (rows == most) {
    product_panel<most, vectors>(p, row, column);
  } else if constexpr (most > 1) {
    product_rows<most - 1, vectors>(p, rows, row, column);
  }
}

template <std::size_t most, std::size_t vectors, class T>
HWY_INLINE void chained_rows(const ChainedProduct<T>& p, std::size_t rows, std::size_t row, std::size_t column) {
  if (rows == most) {
    chained_panel<most, vectors>(p, row, column);
  } else if constexpr (most > 1) {
    chained_rows<most - 1, vectors>(p, rows, row, column);
  }
}

template <class T>
HWY_INLINE void chained_of(const ChainedProduct<T>& p, std::size_t rows, std::size_t width) {
  constexpr std::size_t wide = panel_vectors<T> * hn::MaxLanes(ColumnTag<T>());
  std::size_t column = 0;
  for (; column + wide <= width; column += wide) {
    for (std::size_t row = 0; row < rows; row += panel_rows<T>) {
      fetch_lines(p.of.ahead);
      chained_rows<panel_rows<T>, panel_vectors<T>>(p, std::min(panel_rows<T>, rows - row), row, column);
    }
  }
  for (; column < width; column += column_group<T>) {
    for (std::size_t row = 0; row < rows; row += panel_rows<T>) {
      chained_rows<panel_rows<T>, group_vectors<T>>(p, std::min(panel_rows<T>, rows - row), row, column);
    }
  }
}

template <class T>
HWY_INLINE void product_of(const TileProduct<T>& p, std::size_t rows, std::size_t width) {
  constexpr std::size_t lanes = hn::MaxLanes(ColumnTag<T>());
  constexpr std::size_t wide = panel_vectors<T> * lanes;
  std::size_t column = 0;
  // If a has a single row, whole rows of b are read at once.
  constexpr std::size_t lone_vectors = 8;
  for (; rows == 1 && column + lone_vectors * lanes <= width; column += lone_vectors * lanes) {
    product_panel<1, lone_vectors>(p, 0, column);
  }
  for (; column + wide <= width; column += wide) {
    for (std::size_t row = 0; row < rows; row += panel_rows<T>) {
      fetch_lines(p.ahead);
      product_rows<panel_rows<T>, panel_vectors<T>>(p, std::min(panel_rows<T>, rows - row), row, column);
    }
  }
  for (; column < width; column += column_group<T>) {
    for (std::size_t row = 0; row < rows; row += panel_rows<T>) {
      product_rows<panel_rows<T>, group_vectors<T>>(p, std::min(panel_rows<T>, rows - row), row, column);
    }
  }
}

template <class T>
HWY_INLINE bool finite_of(const T* x, std::size_t stride, std::size_t rows, std::size_t width) {
  const ColumnTag<T> d;
  auto product = hn::Zero(d);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < width; i += hn::Lanes(d)) {
      // 0 x is 0 for a finite x, else NaN, which stays.
      product = hn::MulAdd(hn::Zero(d), hn::LoadU(d, x + row * stride + i), product);
    }
  }
  return hn::AllTrue(d, hn::Eq(product, hn::Zero(d)));
}

template <class T>
HWY_INLINE void add_of(const T* x, std::size_t count, T* to) {
  const ColumnTag<T> d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::LoadU(d, x + i)), d, to + i);
  }
}

// One plain function per pass and type, for the dispatch table.
void Product32(const TileProduct<float>& p, std::size_t rows, std::size_t width) { product_of(p, rows, width); }
void Product64(const TileProduct<double>& p, std::size_t rows, std::size_t width) { product_of(p, rows, width); }
void Chained32(const ChainedProduct<float>& p, std::size_t rows, std::size_t width) { chained_of(p, rows, width); }
void Chained64(const ChainedProduct<double>& p, std::size_t rows, std::size_t width) { chained_of(p, rows, width); }
bool Finite32(const float* x, std::size_t stride, std::size_t rows, std::size_t width) {
  return finite_of<float>(x, stride, rows, width);
}
bool Finite64(const double* x, std::size_t stride, std::size_t rows, std::size_t width) {
  return finite_of<double>(x, stride, rows, width);
}
void Add32(const float* x, std::size_t count, float* to) { add_of<float>(x, count, to); }
void Add64(const double* x, std::size_t count, double* to) { add_of<double>(x, count, to); }

}  // namespace HWY_NAMESPACE
}  // namespace softcheck::kernels::arithmetic
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace softcheck::kernels::arithmetic {

HWY_EXPORT(Product32);
HWY_EXPORT(Product64);
HWY_EXPORT(Chained32);
HWY_EXPORT(Chained64);
HWY_EXPORT(Finite32);
HWY_EXPORT(Finite64);
HWY_EXPORT(Add32);
HWY_EXPORT(Add64);

void tile_product(const TileProduct<float>& product, std::size_t rows, std::size_t width) {
  HWY_DYNAMIC_DISPATCH(Product32)(product, rows, width);
}
void tile_product(const TileProduct<double>& product, std::size_t rows, std::size_t width) {
  HWY_DYNAMIC_DISPATCH(Product64)(product, rows, width);
}
void chained_product(const ChainedProduct<float>& product, std::size_t rows, std::size_t width) {
  HWY_DYNAMIC_DISPATCH(Chained32)(product, rows, width);
}
void chained_product(const ChainedProduct<double>& product, std::size_t rows, std::size_t width) {
  HWY_DYNAMIC_DISPATCH(Chained64)(product, rows, width);
}
bool all_finite(const float* x, std::size_t stride, std::size_t rows, std::size_t width) {
  return HWY_DYNAMIC_DISPATCH(Finite32)(x, stride, rows, width);
}
bool all_finite(const double* x, std::size_t stride, std::size_t rows, std::size_t width) {
  return HWY_DYNAMIC_DISPATCH(Finite64)(x, stride, rows, width);
}
void add_elements(const float* x, std::size_t count, float* to) { HWY_DYNAMIC_DISPATCH(Add32)(x, count, to); }
void add_elements(const double* x, std::size_t count, double* to) { HWY_DYNAMIC_DISPATCH(Add64)(x, count, to); }

}  // namespace softcheck::kernels::arithmetic
#endif
