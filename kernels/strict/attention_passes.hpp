#pragma once

#include "kernels/arithmetic/tile_products.hpp"
#include "kernels/strict/block_state.hpp"
#include "kernels/strict/machine.hpp"

namespace softcheck::kernels::strict {

/// Keys (or queries) that a block of attention_threads threads goes through at a time.
inline constexpr std::size_t block_keys = threads;
static_assert(block_keys == key_block);

/// CompensatedSum of each column of a result, filled up to whole vectors.
template <class T>
struct Columns {
  T* value;
  T* rest;
  std::size_t count;  // a multiple of most_lanes
};

/// HeldOutput of a block's threads: thread t's sums, and the output's columns.
template <class T>
struct QueryState {
  T maximum;
  BlockSums<T> weights, deviations;
  Columns<T> out;
};

template <class T>
struct AttentionPasses {
  /// scores[i][key] = scale (row i, key), an fma a dimension from 0 on. rows: (count, dim), keys: (dim, block_keys) at
  /// key_stride, scores: at stride.
  void (*score)(const T* rows, std::size_t count, std::size_t dim, const T* keys, T scale, T* scores,
                std::size_t stride);
  /// The weights of a block's keys, -1 where a score is -inf, and their sums. Where the maximum is not known it rises
  /// to the largest score; false where that is NaN or +inf: the query is without a result.
  bool (*weigh)(const T* scores, T beta, bool maximum_known, QueryState<T>& state, T* weights);
  /// Adds factors[i] row i, (count, to.count), one after the other. Left out are rows whose mark is negative.
  void (*add_rows)(const T* marks, const T* factors, const T* rows, std::size_t count, const Columns<T>& to);
  /// Adds the columns of a part of the keys, times factor.
  void (*add_part)(const Columns<T>& part, T factor, const Columns<T>& to);
};

template <class T>
const AttentionPasses<T>& attention_passes();
template <>
const AttentionPasses<float>& attention_passes<float>();
template <>
const AttentionPasses<double>& attention_passes<double>();

}  // namespace softcheck::kernels::strict
