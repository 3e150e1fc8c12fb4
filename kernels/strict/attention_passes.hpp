#pragma once

#include "kernels/strict/block_state.hpp"

namespace softcheck::kernels::strict {

/// Keys that a block of attention_threads threads goes through at a time, and how many queries are taken together.
inline constexpr std::size_t block_keys = threads;
inline constexpr std::size_t tile_queries = 16;

/// HeldOutput of a block's threads: thread t's sums, and CompensatedSum of the output's columns, filled up to whole
/// vectors.
template <class T>
struct QueryState {
  T maximum;
  BlockSums<T> weights, deviations;
  T* value;
  T* rest;
  std::size_t columns;  // a multiple of most_lanes
};

/// scores[i][key] = scale (query i, key), an fma a dimension from 0 on. queries: (count, dim), keys: (dim, block_keys),
/// scores: rows at stride.
void score_block(const float* queries, std::size_t count, std::size_t dim, const float* keys, float scale,
                 float* scores, std::size_t stride);
void score_block(const double* queries, std::size_t count, std::size_t dim, const double* keys, double scale,
                 double* scores, std::size_t stride);

/// The weights of a block's keys, -1 where a score is -inf, and their sums. Where the maximum is not known it rises to
/// the largest score; false where that is NaN or +inf: the query is without a result.
bool weigh_block(const float* scores, float beta, bool maximum_known, QueryState<float>& state, float* weights);
bool weigh_block(const double* scores, double beta, bool maximum_known, QueryState<double>& state, double* weights);

/// Adds the weighed rows of values, (keys, state.columns), to the output.
void add_values(const float* weights, const float* values, std::size_t keys, QueryState<float>& state);
void add_values(const double* weights, const double* values, std::size_t keys, QueryState<double>& state);

}  // namespace softcheck::kernels::strict
