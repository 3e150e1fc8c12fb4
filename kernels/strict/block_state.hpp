#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include "kernels/block/row_kernels.hpp"
#include "kernels/strict/machine.hpp"

// The strict kernels compute the bodies of kernels/block/ on the CPU's vectors. Each lane of a vector simulates a
// thread of a block, and entry t of each array below is a variable of thread t. The operations and their order are
// those of the bodies, and so are the bits (docs/kernels/gpu_kernels.md, "Strict mode"). So the formulas and errors in
// a body's docstring hold here too; the docstrings of kernels/strict/ name the body's function.
namespace softcheck::kernels::strict {

/// Threads of a block: 128.
inline constexpr std::size_t threads = row_threads;
/// Items that a block's threads read together, one group each: 512.
inline constexpr std::size_t items_of_block = threads * items_at_once;
/// The most lanes of a vector, 64 bytes.
template <class T>
inline constexpr std::size_t most_lanes = 64 / sizeof(T);
/// Items of the groups of one vector's threads. The caller fills a row up to a multiple of it, so that the passes load
/// whole vectors only.
template <class T>
inline constexpr std::size_t filled = most_lanes<T>* items_at_once;

/// A CompensatedSum of each thread.
template <class T>
struct BlockSums {
  T value[threads];
  T rest[threads];
};

/// The RowStatistics of each thread. The passes neither read nor write the sums that Moments leaves out.
template <class T>
struct BlockState {
  T maximum[threads];
  BlockSums<T> weights, deviations, squares;
};

/// How many of the block's threads have an item of that many: the first ones.
inline std::size_t threads_with(std::size_t items) {
  const std::size_t used = (items + items_at_once - 1) / items_at_once;
  return used < threads ? used : threads;
}

/// How many entries of a state clear() must set before the first used threads get items and are merged: the tree merges
/// pairs up to the next power of two, and at least one vector of pairs. Later levels do not read what a level writes
/// beyond its pairs.
template <class T>
std::size_t merged_entries(std::size_t used) {
  return std::max(std::bit_ceil(used), 2 * most_lanes<T>);
}

/// Sets the first merged_entries(used) threads to a sum of 0, or to the statistics of no items. The caller does this
/// before the passes add to the first used threads.
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

/// The passes over a row, compiled for the instruction set of this machine.
///
/// x       (count) consecutive items of the row, from a multiple of items_of_block on; count is a multiple of filled,
///         and the caller fills the end of the row with -inf, as it does a masked item
/// scale   1 / theta, rounded; or beta
/// used    how many threads may have items, threads_with(columns) or more. The caller has cleared their states, and the
///         others up to merged_entries(used), before the first add_items or add_weights.
template <class T>
struct RowPasses {
  /// add_items() of each thread, for its groups of x in order.
  void (*add_items)(BlockState<T>& state, const T* x, std::size_t count, T scale, Moments moments);
  /// merged_by_block() of the states, in the block's tree: the row's statistics, with 0 for the sums that moments
  /// leaves out. It overwrites the state.
  RowStatistics<T> (*merge_states)(BlockState<T>& state, std::size_t used, T scale, Moments moments);
  /// merged_by_block() of the sums, in the same tree. It overwrites the sums.
  CompensatedSum<T> (*merge_sums)(BlockSums<T>& sums, std::size_t used);
};

/// Those of the kernels in f64 alone; the same arguments.
struct F64Passes {
  /// Adds exp((x - m) scale) to each thread's sum, as sum_of_weights() does.
  void (*add_weights)(BlockSums<double>& sums, const double* x, std::size_t count, double m, double scale);
  /// out = exp((x - m) scale) factor, (count), as write_probabilities(). out may be x, here and in write_logs.
  void (*write_weights)(const double* x, std::size_t count, double m, double scale, double factor, double* out);
  /// out = (x - m) scale - shift, (count), as log softmax.
  void (*write_logs)(const double* x, std::size_t count, double m, double scale, double shift, double* out);
};

/// The passes for float or double, of the instruction set that was chosen at run time.
template <class T>
const RowPasses<T>& row_passes();
template <>
const RowPasses<float>& row_passes<float>();
template <>
const RowPasses<double>& row_passes<double>();
const F64Passes& f64_passes();

}  // namespace softcheck::kernels::strict
