#pragma once

#include <cstddef>
#include <cstdint>

// Products of small matrices, of the sizes of attention's tiles, and functions that bring rows into the layout of these
// products. Each element is a chain of multiply-adds from 0 over the depth, in order: the same for every width of
// vector and panel.
namespace softcheck::kernels::arithmetic {

/// Keys of a block: the contract's blocks:128. A multiple of row_group.
inline constexpr std::size_t key_block = 128;

/// Distance between the rows of a transposed block: a power of two would put them all into the same few cache sets.
template <class T>
inline constexpr std::size_t key_stride = key_block + 64 / sizeof(T);

/// Row-major products: widths are filled up to a multiple of this many columns, one 64-byte vector.
template <class T>
inline constexpr std::size_t column_group = 64 / sizeof(T);

/// row_product's widths are multiples of this many columns, two 64-byte vectors.
template <class T>
inline constexpr std::size_t row_group = 2 * column_group<T>;

constexpr std::size_t rounded_up(std::size_t count, std::size_t step) { return (count + step - 1) / step * step; }

/// Rows that come next: each panel of a product fetches some of their lines into the second-level cache.
struct RowsAhead {
  const std::byte* row = nullptr;
  std::int64_t stride = 0;  // in bytes
  std::size_t bytes = 0;    // of a row
  std::size_t rows = 0;     // not yet fetched
  std::size_t done = 0;     // bytes of the first of them
};

/// c (rows, width) = a (rows, depth) b (depth, width): a[r a_row + t a_depth], the rows of b and c at their strides.
template <class T>
struct TileProduct {
  const T* a;
  std::size_t a_row;
  std::size_t a_depth;
  const T* b;
  std::size_t b_stride;
  std::size_t depth;
  T* c;
  std::size_t c_stride;
  RowsAhead* ahead = nullptr;
};

/// width is a multiple of column_group.
void tile_product(const TileProduct<float>& product, std::size_t rows, std::size_t width);
void tile_product(const TileProduct<double>& product, std::size_t rows, std::size_t width);

/// c (rows, width) = a b, or c + a b. Each element is a sum of chains, each over `chain` steps of the depth. The chains
/// are added pairwise in a binary tree in the order of their numbers: a node is the sum of its existing children.
template <class T>
struct ChainedProduct {
  TileProduct<T> of;
  std::size_t chain;
  std::size_t first;  // number of the first chain; the last one's is below 2^chain_levels
  bool add;           // to what c holds
};

/// Levels of such a tree.
inline constexpr std::size_t chain_levels = 8;

/// width is a multiple of column_group.
void chained_product(const ChainedProduct<float>& product, std::size_t rows, std::size_t width);
void chained_product(const ChainedProduct<double>& product, std::size_t rows, std::size_t width);

/// c (rows, width) = a (rows, depth) b^T, the rows of b wherever they are.
template <class T>
struct RowProduct {
  const T* a;
  std::size_t a_stride;
  const T* const* b;  // (known) rows; those beyond width will come next, and are fetched
  std::size_t known;
  std::size_t depth;
  T* c;
  std::size_t c_stride;
};

/// Prefetches memory that a single row, which is bound by memory, will read. Into the L2 cache: prefetches into L1 have
/// too few buffers, and take 5.4 ms where these take 4.2 (131072 keys of 64 numbers; without prefetches 7.4).
/// Always inline: g++ removes a call of it as a call without effect.
template <class T>
[[gnu::always_inline]] inline void fetch(const T* x) {
  __builtin_prefetch(x, 0, 2);
}

/// How many rows ahead row_product fetches.
template <class T>
inline constexpr std::size_t fetched_rows = 256 / sizeof(T);

/// The bits of tile_product, for few rows: b is turned in registers, and that again for each panel of rows. width is a
/// multiple of row_group.
void row_product(const RowProduct<float>& product, std::size_t rows, std::size_t width);
void row_product(const RowProduct<double>& product, std::size_t rows, std::size_t width);

/// out[t key_stride + r] = rows[r][t] for t < depth and r < count, a multiple of column_group.
void transpose_rows(const float* const* rows, std::size_t count, std::size_t depth, float* out);
void transpose_rows(const double* const* rows, std::size_t count, std::size_t depth, double* out);

/// True if no number of (rows, width) is infinite or NaN.
bool all_finite(const float* x, std::size_t stride, std::size_t rows, std::size_t width);
bool all_finite(const double* x, std::size_t stride, std::size_t rows, std::size_t width);

/// to += x, count a multiple of column_group.
void add_elements(const float* x, std::size_t count, float* to);
void add_elements(const double* x, std::size_t count, double* to);

}  // namespace softcheck::kernels::arithmetic
