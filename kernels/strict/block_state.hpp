#pragma once

#include <cstddef>

#include "kernels/block/row_kernels.hpp"

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

/// RowStatistics of each thread, without squares.
template <class T>
struct BlockState {
  T maximum[threads];
  BlockSums<T> weights, deviations;
};

/// How many threads have items, of that many.
inline std::size_t threads_with(std::size_t items) {
  const std::size_t used = (items + items_at_once - 1) / items_at_once;
  return used < threads ? used : threads;
}

// count: a multiple of filled, the row from a multiple of items_of_block on, filled up with -inf.

/// No items in the first threads: as many as take part, and what a merge reads beyond them.
void clear(BlockState<float>& state, std::size_t used);
void clear(BlockState<double>& state, std::size_t used);
void clear(BlockSums<float>& sums, std::size_t used);
void clear(BlockSums<double>& sums, std::size_t used);

/// add_items() of each thread for its groups of x. Without deviations those stay 0.
void add_items(BlockState<float>& state, const float* x, std::size_t count, float scale, bool deviations);
void add_items(BlockState<double>& state, const double* x, std::size_t count, double scale, bool deviations);

/// merged_by_block() of the first used threads; squares are 0. The state is used up.
RowStatistics<float> merge_threads(BlockState<float>& state, std::size_t used, float scale);
RowStatistics<double> merge_threads(BlockState<double>& state, std::size_t used, double scale);
CompensatedSum<float> merge_threads(BlockSums<float>& sums, std::size_t used);
CompensatedSum<double> merge_threads(BlockSums<double>& sums, std::size_t used);

/// Each thread's sum of exp((x - m) scale).
void add_weights(BlockSums<float>& sums, const float* x, std::size_t count, float m, float scale);
void add_weights(BlockSums<double>& sums, const double* x, std::size_t count, double m, double scale);

/// out = exp((x - m) scale) factor. out may be x.
void write_weights(const float* x, std::size_t count, float m, float scale, float factor, float* out);
void write_weights(const double* x, std::size_t count, double m, double scale, double factor, double* out);

/// out = (x - m) scale - shift. out may be x.
void write_logs(const float* x, std::size_t count, float m, float scale, float shift, float* out);
void write_logs(const double* x, std::size_t count, double m, double scale, double shift, double* out);

}  // namespace softcheck::kernels::strict
