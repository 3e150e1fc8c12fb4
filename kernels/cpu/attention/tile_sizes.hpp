#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/call/packed_views.hpp"
#include "kernels/call/parallel_tasks.hpp"
#include "kernels/cpu/attention/attention_passes.hpp"
#include "kernels/cpu/machine.hpp"

// How many rows a tile has. A row's bits do not depend on it.
namespace softcheck::kernels::cpu {

/// Bytes of scores that a tile keeps between its passes: an L2 cache of 2 MiB holds them and a block of K and V. With a
/// smaller L2 cache they come from L3, which is still faster than another product.
inline constexpr std::size_t cached_bytes = std::size_t{13} << 17;

/// The same for a gradient's tile, which also keeps g. What does not fit into the L2 cache with K, V and the sums comes
/// from L3, as whole lines in memory order. In return a tile of more rows reads K, V, dk and dv less often.
inline constexpr std::size_t gradient_cached_bytes = std::size_t{32} << 20;

/// dk and dv of a key head that are summed up over its tiles, at most, in bytes.
inline constexpr std::size_t key_sums_bytes = std::size_t{256} << 20;

inline std::int64_t rows_of(const AttentionViews& views) { return views.queries() * views.group(); }

/// Room for the rows of a tile of at most most rows: whole vectors.
inline std::size_t capacity_of(const AttentionViews& views, std::size_t most) {
  const auto rows = static_cast<std::size_t>(std::min<std::int64_t>(rows_of(views), static_cast<std::int64_t>(most)));
  return rounded_up(std::max<std::size_t>(rows, 1), column_group<float>);
}

/// Numbers that a tile keeps of a block of keys: scores, and their maxima.
constexpr std::size_t cache_of_block(std::size_t rows) { return rows * key_block + rounded_up(rows, key_block); }

/// The same of some keys, at least of one block.
inline std::size_t cached_size(std::size_t rows, std::int64_t keys) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(keys, 1));
  return rounded_up(count, key_block) / key_block * cache_of_block(rows);
}

/// The most rows whose scores against `keys` keys, of size bytes each, fit into cached_bytes; tile_rows if not even
/// those of tile_step rows fit.
inline std::int64_t rows_that_keep(std::int64_t keys, std::size_t size) {
  for (std::size_t rows = tile_rows; rows > 0; rows -= tile_step) {
    if (cached_size(rows, keys) * size <= cached_bytes) {
      return static_cast<std::int64_t>(rows);
    }
  }
  return static_cast<std::int64_t>(tile_rows);
}

/// The rows of a gradient's tiles: the largest power of two times tile_step, at most `most`, whose scores and g against
/// `keys` keys, of size bytes each, fit into gradient_cached_bytes; the largest such number if none fits.
inline std::int64_t rows_of_gradient(std::int64_t keys, std::size_t size, std::int64_t most) {
  std::int64_t largest = static_cast<std::int64_t>(tile_step);
  while (2 * largest <= most) {
    largest *= 2;
  }

  for (std::int64_t rows = largest; rows >= static_cast<std::int64_t>(tile_step); rows /= 2) {
    if (2 * cached_size(static_cast<std::size_t>(rows), keys) * size <= gradient_cached_bytes) {
      return rows;
    }
  }
  return largest;
}

/// Rows of the tiles of some calls: at most `most`, and fewer if a thread would be without a tile.
template <class Views>
std::int64_t rows_of_tiles(const Calls<Views>& calls, std::int64_t most) {
  const std::int64_t threads = thread_count();
  if (threads == 1) {
    return most;
  }
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < calls.count(); ++i) {
    const Views call = calls[i];
    const AttentionViews& views = forward_of(call);
    rows += views.batch() * views.key_heads() * rows_of(views);
  }
  constexpr auto step = static_cast<std::int64_t>(tile_step);
  return std::clamp(rows / (4 * threads) / step * step, step, most);
}

}  // namespace softcheck::kernels::cpu
