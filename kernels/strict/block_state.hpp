#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include "kernels/block/row_kernels.hpp"
#include "kernels/strict/machine.hpp"

// The bodies of kernels/block/ for the CPU's vectors: a vector's lanes are as many threads of a block, entry t of each
// array is what thread t holds. The same operations in the same order, so the same bits as on a GPU and the emulator.
namespace softcheck::kernels::strict {

inline constexpr std::size_t threads = row_threads;
/// Items that a block's threads read together.
inline constexpr std::size_t items_of_block = threads * items_at_once;
/// No vector is longer; items are taken in whole vectors for each of items_at_once.
template <class T>
inline constexpr std::size_t most_lanes = 64 / sizeof(T);
template <class T>
inline constexpr std::size_t filled = most_lanes<T>* items_at_once;

template <class T>
struct BlockSums {
  T value[threads];  // CompensatedSum
  T rest[threads];
};

/// RowStatistics of each thread. What is not wanted is neither read nor written.
template <class T>
struct BlockState {
  T maximum[threads];
  BlockSums<T> weights, deviations, squares;
};

/// How many threads have items, of that many.
inline std::size_t threads_with(std::size_t items) {
  const std::size_t used = (items + items_at_once - 1) / items_at_once;
  return used < threads ? used : threads;
}

// The first used entries, or all that one vector of pairs reads: beyond those that take part there are no items. What a
// level of merges writes beyond its pairs no later pair reads.
template <class T>
std::size_t merged_entries(std::size_t used) {
  return std::max(std::bit_ceil(used), 2 * most_lanes<T>);
}

/// No items in the first threads: as many as take part, and what a merge reads beyond them.
template <class T>
void clear(BlockSums<T>& sums, std::size_t used) {
  std::fill_n(sums.value, merged_entries<T>(used), T(0));
  std::fill_n(sums.rest, merged_entries<T>(used), T(0));
}
template <class T>
void clear(BlockState<T>& state, std::size_t used, Moments moments = Moments::deviations) {
  std::fill_n(state.maximum, merged_entries<T>(used), minus_infinity<T>());
  clear(state.weights, used);
  if (moments >= Moments::deviations) clear(state.deviations, used);
  if (moments == Moments::squares) clear(state.squares, used);
}

/// What a block's threads do with a row, on this machine's vectors. count: a multiple of filled, the row from a
/// multiple of items_of_block on, filled up with -inf.
template <class T>
struct RowPasses {
  /// add_items() of each thread for its groups of x.
  void (*add_items)(BlockState<T>& state, const T* x, std::size_t count, T scale, Moments moments);
  /// merged_by_block() of the first used threads, 0 for what is not wanted. The state is used up.
  RowStatistics<T> (*merge_states)(BlockState<T>& state, std::size_t used, T scale, Moments moments);
  CompensatedSum<T> (*merge_sums)(BlockSums<T>& sums, std::size_t used);
  /// Each thread's sum of exp((x - m) scale).
  void (*add_weights)(BlockSums<T>& sums, const T* x, std::size_t count, T m, T scale);
  /// out = exp((x - m) scale) factor. out may be x, as for the next.
  void (*write_weights)(const T* x, std::size_t count, T m, T scale, T factor, T* out);
  /// out = (x - m) scale - shift.
  void (*write_logs)(const T* x, std::size_t count, T m, T scale, T shift, T* out);
};

template <class T>
const RowPasses<T>& row_passes();
template <>
const RowPasses<float>& row_passes<float>();
template <>
const RowPasses<double>& row_passes<double>();

}  // namespace softcheck::kernels::strict
