#pragma once

#include "kernels/arithmetic/tile_products.hpp"
#include "kernels/strict/block_state.hpp"
#include "kernels/strict/machine.hpp"

namespace softcheck::kernels::strict {

/// Keys of a tile of kernels/block/attention.hpp, one a thread; in the keys' backward pass, queries: 128.
inline constexpr std::size_t block_keys = threads;
static_assert(block_keys == key_block);

/// A CompensatedSum of each column of a query's output or of a gradient's row. The columns are filled up to whole
/// vectors of most_lanes.
template <class T>
struct Columns {
  T* value;
  T* rest;
  std::size_t count;  // a multiple of most_lanes
};

/// The GivenOutput of all threads of a block: the maximum that they share, the sums of each thread, and the columns of
/// the output.
template <class T>
struct QueryState {
  T maximum;
  BlockSums<T> weights, deviations;
  Columns<T> out;
};

/// The passes of attention, compiled for the instruction set of this machine.
template <class T>
struct AttentionPasses {
  /// scores[i][key] = scale sum rows[i][t] keys[t][key], an fma a dimension from t = 0 on, as QueryScores::visible().
  ///
  /// rows     (count, dim), contiguous
  /// keys     (dim, block_keys), keys[t] at t key_stride
  /// scores   (count, block_keys), scores[i] at i stride
  void (*score)(const T* rows, std::size_t count, std::size_t dim, const T* keys, T scale, T* scores,
                std::size_t stride);
  /// The weighing of one tile in attend(), by all threads of a block: raises state.maximum to the largest score unless
  /// the maximum is known, writes each key's weight and adds it to its thread's sums.
  ///
  /// scores    (block_keys), -inf if the key is hidden
  /// weights   (block_keys), exp(beta (x - maximum)); -1 if the score is -inf
  /// returns   false if a score is NaN or +inf and the maximum is not known: the query then has no result, weights
  ///           is not written, and the caller passes no more tiles of it
  bool (*weigh)(const T* scores, T beta, bool maximum_known, QueryState<T>& state, T* weights);
  /// to += sum factors[i] rows[i] over i in order, as the threads of attend() add their columns. A row whose mark is
  /// negative is left out and not read.
  ///
  /// marks, factors   (count)
  /// rows             (count, to.count), contiguous
  void (*add_rows)(const T* marks, const T* factors, const T* rows, std::size_t count, const Columns<T>& to);
  /// to += factor part, as merge_parts_body() adds the columns of a part. part and to have as many columns.
  void (*add_part)(const Columns<T>& part, T factor, const Columns<T>& to);
};

/// The passes for float or double, of the instruction set that was chosen at run time.
template <class T>
const AttentionPasses<T>& attention_passes();
template <>
const AttentionPasses<float>& attention_passes<float>();
template <>
const AttentionPasses<double>& attention_passes<double>();

}  // namespace softcheck::kernels::strict
