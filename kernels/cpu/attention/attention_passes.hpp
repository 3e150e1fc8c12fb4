#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arithmetic/tile_products.hpp"
#include "kernels/cpu/machine.hpp"

// The vector passes of attention over one tile: some queries of the heads that share a key head, and one block of its
// keys. A query's bits depend only on its own row: no pass mixes rows, and sums have a fixed order.
namespace softcheck::kernels::cpu {

/// Most rows of a tile: enough to make the transposition of a block of keys cheap; a multiple of tile_step.
inline constexpr std::size_t tile_rows = 192;

/// Tiles are multiples of this many rows: of the lanes of a vector, and of the rows of a product's panel.
inline constexpr std::size_t tile_step = 48;

/// Rows that are scored, weighed and multiplied with V one part after the other: their scores and weights are to stay
/// in the first-level cache.
inline constexpr std::size_t row_part = 48;

/// What is known of some keys, for each row of a tile: m, the number of keys whose weight is 1, the sum of the other
/// weights, T = sum w D, U = sum w D^2, and O = sum w v. S = ones + rest: a sharp row's S - 1 keeps its relative
/// accuracy.
template <class T>
struct TileState {
  T* maximum;     // -inf: no key seen
  T* ones;        // weights of exactly 1, the maximum's among them
  T* rest;        // the other weights
  T* deviations;  // T; nullptr if it is not wanted
  T* squares;     // U; nullptr if it is not wanted
  T* values;      // (capacity, width); nullptr with width 0 if only statistics are wanted
};

/// The scores of rows first to rows of a tile against a block of keys, (rows - first, key_block) each.
template <class T>
struct TileScores {
  std::size_t first;           // passes skip the rows before it,
  std::size_t rows;            // and those from this one on
  std::size_t width;           // keys of the block, rounded up to block_lanes
  T* scores;                   // q k at first, then scale q k, -inf if a key is not seen
  T* weights;                  // exp(beta (score - maximum)); may be scores; nullptr: not needed
  const std::uint32_t* limit;  // (rows) how many of the block's keys a row sees, from the first on
  const T* mask;               // 0: of these a key that the row does not see; nullptr: it sees all
  T* undefined;                // (rows) set to 1 if a visible score is NaN or +inf
  const std::uint32_t* begin;  // (rows) keys before this one are not seen; all 0 for mask_scores
};

/// Scales and masks the scores of the rows [first, rows), and finds the largest of each; -inf if it sees no key.
void mask_scores(const TileScores<float>& tile, float scale, float* maximum);
void mask_scores(const TileScores<double>& tile, double scale, double* maximum);

/// Computes the weights relative to maximum, at each row's beta, and their sums; does not change state's maximum and
/// values. The caller may ask for U together with T, if it asks for no weights.
void weigh_scores(const TileScores<float>& tile, const float* maximum, const float* beta,
                  const TileState<float>& state);
void weigh_scores(const TileScores<double>& tile, const double* maximum, const double* beta,
                  const TileState<double>& state);

/// left = left and right merged. A state without keys does not change the other's bits.
void merge_states(const TileState<float>& left, const TileState<float>& right, std::size_t rows, std::size_t width);
void merge_states(const TileState<double>& left, const TileState<double>& right, std::size_t rows, std::size_t width);

}  // namespace softcheck::kernels::cpu
