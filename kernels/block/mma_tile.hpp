#pragma once

#include "kernels/block/attention.hpp"

namespace softcheck::kernels {

/// A block's tile of tensor-core attention: a warp 16 queries, and the keys it goes through at a time.
inline constexpr int mma_threads = 128;
inline constexpr int queries_of_warp = 16;
inline constexpr int queries_of_tile = mma_threads / warp_size * queries_of_warp;
inline constexpr int keys_of_tile = 32;
/// Elements between rows of a tile of that width: 16 bytes more, so that a fragment's rows lie in different banks.
template <int width>
inline constexpr int tile_stride = width + 8;

/// Of a tile of keys and one of values, in bytes.
template <int width, class Element>
inline constexpr std::size_t mma_bytes = 2 * keys_of_tile* tile_stride<width> * sizeof(Element);

/// Tiles that a head's queries are cut into. Where sequences are packed, each begins with a tile of its own: sequence i
/// has those from first_tile(i) on, of which the last may be without queries.
template <class Arguments>
SOFTCHECK_BODY std::int64_t first_tile(const Arguments& arguments, std::int64_t sequence) {
  return arguments.query_ends.load(sequence, 0, arguments.queries) / queries_of_tile + sequence;
}
template <class Arguments>
constexpr std::int64_t tiles_of_head(const Arguments& arguments) {
  if (arguments.sequences > 0) return arguments.queries / queries_of_tile + arguments.sequences;
  return (arguments.queries + queries_of_tile - 1) / queries_of_tile;
}

/// The queries of a warp and where they stand. A lane holds parts of two of them: row(0) and row(1).
template <BlockContext B, class Element, class Result>
struct QueryTile {
  using T = Accumulator<Element>;

  const AttentionArguments<B, Element, Result>& arguments;
  std::int64_t batch, head, key_head, first;
  SequencePlaces of;
  std::int64_t columns;  // keys up to the last one that any query of the block may see
  int lane;

  SOFTCHECK_BODY QueryTile(B& block, const AttentionArguments<B, Element, Result>& all, std::int64_t item)
      : arguments(all), lane(block.lane()) {
    const std::int64_t tiles = tiles_of_head(all);
    std::int64_t tile = item % tiles;
    head = item / tiles % all.heads;
    batch = item / tiles / all.heads;
    key_head = head / (all.heads / all.key_heads);
    of = {0, all.queries, 0, all.keys};
    if (all.sequences > 0) {
      const std::int64_t i =
          last_start(all.sequences, tile, [&](std::int64_t sequence) { return first_tile(all, sequence); });
      of = all.sequence(i);
      tile -= first_tile(all, i);
    }
    const std::int64_t begin = of.first_query + tile * queries_of_tile, end = begin + queries_of_tile;
    first = begin + block.warp() * queries_of_warp;
    const std::int64_t seen = (end < of.query_end ? end : of.query_end) + of.key_end - of.query_end;
    columns = begin >= of.query_end ? of.first_key : all.causal && seen < of.key_end ? seen : of.key_end;
  }

  SOFTCHECK_BODY std::int64_t row(int half) const { return first + place_in_c(lane, 2 * half).row; }

  SOFTCHECK_BODY bool sees(std::int64_t query, std::int64_t key) const {
    if (query >= of.query_end || key >= columns) return false;
    if (arguments.causal && key - of.key_end > query - of.query_end) return false;
    return !arguments.masked || arguments.mask.load(batch, head, query, key) != 0;
  }
};

/// A tile of keys or of values into shared memory; zeros beyond the last key and the last column.
template <int width, BlockContext B, class Source, class Shared>
SOFTCHECK_BODY void load_tile(B& block, const Source& from, std::int64_t batch, std::int64_t head, std::int64_t begin,
                              std::int64_t keys, std::int64_t dim, const Shared& to) {
  for (int i = block.rank(); i < keys_of_tile * width; i += block.size()) {
    const int key = i / width, column = i % width;
    const bool inside = begin + key < keys && column < dim;
    using Element = decltype(to.load(0));
    to.store(key * tile_stride<width> + column, inside ? from.load(batch, head, begin + key, column) : Element{});
  }
}

/// scale q k for 16 queries and the tile's keys, -inf where hidden: entry e of x[n] is that of place_in_c, 8 n keys on.
template <int width, BlockContext B, class Element, class Result, class Shared>
SOFTCHECK_BODY void score_tile(B& block, const QueryTile<B, Element, Result>& tile, const Shared& keys,
                               const FragmentA<Element> (&q)[width / 16], std::int64_t begin,
                               FragmentC (&x)[keys_of_tile / 8]) {
  SOFTCHECK_UNROLL
  for (int n = 0; n < keys_of_tile / 8; ++n) {
    FragmentC dots = {{0, 0, 0, 0}};
    SOFTCHECK_UNROLL
    for (int step = 0; step < width / 16; ++step) {
      FragmentB<Element> k;
      SOFTCHECK_UNROLL
      for (int e = 0; e < 4; ++e) {
        const MatrixPlace place = place_in_b(tile.lane, e);
        k.entry[e] = keys.load((place.column + 8 * n) * tile_stride<width> + place.row + 16 * step);
      }
      dots = block.mma(q[step], k, dots);
    }
    SOFTCHECK_UNROLL
    for (int e = 0; e < 4; ++e) {
      const std::int64_t key = begin + 8 * n + place_in_c(tile.lane, e).column;
      x[n].entry[e] = tile.sees(tile.row(e / 2), key) ? dots.entry[e] * tile.arguments.scale : minus_infinity<float>();
    }
  }
}

/// The same of the four lanes that share a row, in each of them.
template <BlockContext B, class State, class Merge>
SOFTCHECK_BODY State merged_by_row(B& block, State own, Merge merge) {
  for (int distance = 1; distance < 4; distance *= 2) {
    const State other = block.shuffle_xor(whole_warp, own, distance);
    const bool upper = (block.lane() & distance) != 0;
    own = merge(upper ? other : own, upper ? own : other);
  }
  return own;
}

/// out += weights values. A value that is NaN or infinite would spoil the queries it is hidden from, as 0 NaN is NaN:
/// it counts as 0, and makes NaN of its column for those that see it.
template <int width, BlockContext B, class Element, class Shared>
SOFTCHECK_BODY void add_values(B& block, const Shared& values, const FragmentA<Element> (&weights)[keys_of_tile / 16],
                               const FragmentA<Element> (&seen)[keys_of_tile / 16], FragmentC (&out)[width / 8]) {
  SOFTCHECK_UNROLL
  for (int step = 0; step < keys_of_tile / 16; ++step) {
    SOFTCHECK_UNROLL
    for (int n = 0; n < width / 8; ++n) {
      FragmentB<Element> v, spoilt;
      bool any_spoilt = false;
      SOFTCHECK_UNROLL
      for (int e = 0; e < 4; ++e) {
        const MatrixPlace place = place_in_b(block.lane(), e);
        v.entry[e] = values.load((place.row + 16 * step) * tile_stride<width> + place.column + 8 * n);
        const float value = widened(v.entry[e]);
        const bool finite = value - value == 0;
        spoilt.entry[e] = narrowed<Element>(finite ? 0.0F : 1.0F);
        if (!finite) v.entry[e] = Element{};
        any_spoilt = any_spoilt || !finite;
      }
      out[n] = block.mma(weights[step], v, out[n]);
      if (block.any(whole_warp, any_spoilt)) {
        const FragmentC met = block.mma(seen[step], spoilt, FragmentC{{0, 0, 0, 0}});
        SOFTCHECK_UNROLL
        for (int e = 0; e < 4; ++e) {
          if (met.entry[e] > 0) out[n].entry[e] = not_a_number<float>();
        }
      }
    }
  }
}

}  // namespace softcheck::kernels
