#pragma once

#include "kernels/block/attention.hpp"

namespace softcheck::kernels {

/// A block's tile of tensor-core attention: a warp 16 queries, and the keys it goes through at a time.
inline constexpr int mma_threads = 128;
inline constexpr int queries_of_warp = 16;
inline constexpr int queries_of_tile = mma_threads / warp_size * queries_of_warp;
inline constexpr int keys_of_tile = 32;
/// Elements moved at once: 16 bytes.
inline constexpr int elements_of_chunk = 8;
/// Elements between rows of a tile of that width: 16 bytes more, so that a matrix's rows lie in different banks.
template <int width>
inline constexpr int tile_stride = width + elements_of_chunk;

/// Of tiles of queries, keys and values and of an int for each warp, in bytes.
template <int width, class Element>
inline constexpr std::size_t mma_bytes =
    (queries_of_tile + 2 * keys_of_tile) * tile_stride<width> * sizeof(Element) + mma_threads / warp_size * sizeof(int);

/// The tile that a packed sequence begins with. It has as many as it needs up to the next one's, and at most one more;
/// the last sequence those of the places behind it, too.
template <class Arguments>
SOFTCHECK_BODY std::int64_t first_tile(const Arguments& arguments, std::int64_t sequence) {
  return arguments.query_offsets.load(sequence, 0, arguments.queries) / queries_of_tile + sequence;
}
/// Tiles that a head's queries are cut into.
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
  std::int64_t batch, head, key_head;
  std::int64_t begin, first;  // query of the block, of the warp
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
    // Before the first sequence, where lengths on a device do not start at 0, there is nothing.
    begin = tile < 0 ? of.query_end : of.first_query + tile * queries_of_tile;
    const std::int64_t end = begin + queries_of_tile;
    first = begin + block.warp() * queries_of_warp;
    const std::int64_t seen = (end < of.query_end ? end : of.query_end) + of.key_end - of.query_end;
    columns = begin >= of.query_end ? of.first_key : all.causal && seen < of.key_end ? seen : of.key_end;
  }

  SOFTCHECK_BODY std::int64_t row(int half) const { return first + place_in_c(lane, 2 * half).row; }

  /// How many of the keys_of_tile keys from begin on row(half) may see: the first ones.
  SOFTCHECK_BODY int seen_keys(int half, std::int64_t begin) const {
    const std::int64_t query = row(half), last = query + 1 - of.query_end + of.key_end;
    const std::int64_t end = arguments.causal && last < columns ? last : columns;
    if (query >= of.query_end || end <= begin) return 0;
    return static_cast<int>(end - begin < keys_of_tile ? end - begin : keys_of_tile);
  }
  SOFTCHECK_BODY bool masked(int half, std::int64_t key) const {
    return arguments.masked && arguments.mask.load(batch, head, row(half), key) == 0;
  }
};

/// Whether a tensor's rows of dim elements can be moved a chunk at a time.
template <class Source>
SOFTCHECK_BODY bool moves_by_chunks(const Source& from, std::int64_t dim) {
  const std::int64_t together = from.strides[0] | from.strides[1] | from.strides[2] | dim;
  return from.strides[3] == 1 && together % elements_of_chunk == 0 &&
         from.elements.template aligned<elements_of_chunk>(0);
}

template <class Element>
SOFTCHECK_BODY Vector<std::uint32_t, elements_of_chunk / 2> pairs_of(const Vector<Element, elements_of_chunk>& chunk) {
  return std::bit_cast<Vector<std::uint32_t, elements_of_chunk / 2>>(chunk);
}

/// So many rows of a head, from begin on, into shared memory, zeros from end on and beyond the last column. False where
/// this thread met an element that is NaN or infinite.
template <int width, int rows_of_tile, BlockContext B, class Source, class Shared>
SOFTCHECK_BODY bool load_tile(B& block, const Source& from, bool by_chunks, std::int64_t batch, std::int64_t head,
                              std::int64_t begin, std::int64_t end, std::int64_t dim, const Shared& to) {
  using Element = decltype(to.load(0));
  bool finite = true;
  if (by_chunks) {
    // A thread has the same columns of some rows.
    constexpr int of_row = width / elements_of_chunk, rows = mma_threads / of_row, count = rows_of_tile / rows;
    const int row = block.rank() / of_row, column = block.rank() % of_row * elements_of_chunk;
    const std::int64_t first = from.place(batch, head, begin + row, column);
    const std::int64_t left = column < dim ? end - begin - row : 0;
    Vector<std::uint32_t, elements_of_chunk / 2> chunk[count];
    SOFTCHECK_UNROLL
    for (int i = 0; i < count; ++i) {
      chunk[i] = {};
      if (i * rows >= left) continue;
      chunk[i] = pairs_of(from.elements.template load_vector<elements_of_chunk>(first + i * rows * from.strides[2]));
    }
    SOFTCHECK_UNROLL
    for (int i = 0; i < count; ++i) {
      to.store_vector((i * rows + row) * tile_stride<width> + column,
                      std::bit_cast<Vector<Element, elements_of_chunk>>(chunk[i]));
      SOFTCHECK_UNROLL
      for (const std::uint32_t pair : chunk[i].entry) finite = finite && both_finite<Element>(pair);
    }
  } else {
    SOFTCHECK_ROLL
    for (int i = block.rank(); i < rows_of_tile * width; i += block.size()) {
      const int row = i / width, column = i % width;
      const bool inside = begin + row < end && column < dim;
      const Element x = inside ? from.load(batch, head, begin + row, column) : Element{};
      to.store(row * tile_stride<width> + column, x);
      finite = finite && is_finite(x);
    }
  }
  return finite;
}

/// The first or the second two matrices as 16 rows of an operand.
template <class Element>
SOFTCHECK_BODY FragmentB<Element> operand_of(const MatrixParts<Element>& parts, int i) {
  FragmentB<Element> operand;
  operand.word[0] = parts.word[2 * i];
  operand.word[1] = parts.word[2 * i + 1];
  return operand;
}

/// scale q k for 16 queries and the tile's keys, -inf where hidden: entry e of x[n] is that of place_in_c, 8 n keys on.
template <int width, BlockContext B, class Element, class Result, class Shared>
SOFTCHECK_BODY void score_tile(B& block, const QueryTile<B, Element, Result>& tile, const Shared& queries,
                               const Shared& keys, std::int64_t begin, FragmentC (&x)[keys_of_tile / 8]) {
  SOFTCHECK_UNROLL
  for (FragmentC& dots : x) dots = {{0, 0, 0, 0}};
  SOFTCHECK_UNROLL
  for (int step = 0; step < width / 16; step += 2) {
    FragmentA<Element> q[2];
    SOFTCHECK_UNROLL
    for (int i = 0; i < 2; ++i) {
      // Twice 8 queries, of 8 dimensions and of the next 8.
      const int row = block.warp() * queries_of_warp + tile.lane % 16;
      static_cast<Entries<Element, 8>&>(q[i]) =
          block.template load_matrices<false>(queries, row * tile_stride<width> + 16 * (step + i) + tile.lane / 16 * 8);
    }
    SOFTCHECK_UNROLL
    for (int n = 0; n < keys_of_tile / 8; ++n) {
      // 8 keys, four times 8 dimensions.
      const MatrixParts<Element> k = block.template load_matrices<false>(
          keys, (8 * n + tile.lane % 8) * tile_stride<width> + 16 * step + tile.lane / 8 * 8);
      x[n] = block.mma(q[0], operand_of(k, 0), x[n]);
      x[n] = block.mma(q[1], operand_of(k, 1), x[n]);
    }
  }
  SOFTCHECK_UNROLL
  for (FragmentC& dots : x) {
    SOFTCHECK_UNROLL
    for (float& score : dots.entry) score *= tile.arguments.scale;
  }
  SOFTCHECK_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int seen = tile.seen_keys(half, begin);
    if (seen == keys_of_tile && !tile.arguments.masked) continue;
    SOFTCHECK_UNROLL
    for (int i = 0; i < keys_of_tile / 4; ++i) {
      const int e = 2 * half + i % 2, key = 8 * (i / 2) + place_in_c(tile.lane, e).column;
      if (key >= seen || tile.masked(half, begin + key)) x[i / 2].entry[e] = minus_infinity<float>();
    }
  }
}

/// Two fragments of a product as one operand of the next: 16 keys of each row, of the format of the values.
template <class Element>
SOFTCHECK_BODY void as_operands(const FragmentC (&from)[keys_of_tile / 8],
                                FragmentA<Element> (&to)[keys_of_tile / 16]) {
  SOFTCHECK_UNROLL
  for (int step = 0; step < keys_of_tile / 16; ++step) {
    SOFTCHECK_UNROLL
    for (int i = 0; i < 4; ++i) {
      const float* pair = from[2 * step + i / 2].entry + 2 * (i % 2);
      to[step].word[i] = narrowed_pair<Element>(pair[0], pair[1]);
    }
  }
}

/// The states of the four lanes that share a row merged, the same in each of them.
template <BlockContext B, class State, class Merge>
SOFTCHECK_BODY State merged_by_row(B& block, State own, Merge merge) {
  for (int distance = 1; distance < 4; distance *= 2) {
    const State other = block.shuffle_xor(whole_warp, own, distance);
    const bool upper = (block.lane() & distance) != 0;
    own = merge(upper ? other : own, upper ? own : other);
  }
  return own;
}

/// The values of 16 keys, 16 step on, in 16 columns from 8 n on: twice 8 keys, of 8 columns and of the next 8.
template <int width, class Element, BlockContext B, class Shared>
SOFTCHECK_BODY MatrixParts<Element> values_of(B& block, const Shared& values, int step, int n) {
  const int lane = block.lane();
  return block.template load_matrices<true>(values,
                                            (16 * step + lane % 16) * tile_stride<width> + 8 * n + lane / 16 * 8);
}

/// out += weights values.
template <int width, BlockContext B, class Element, class Shared>
SOFTCHECK_BODY void add_values(B& block, const Shared& values, const FragmentA<Element> (&weights)[keys_of_tile / 16],
                               FragmentC (&out)[width / 8]) {
  SOFTCHECK_UNROLL
  for (int step = 0; step < keys_of_tile / 16; ++step) {
    SOFTCHECK_UNROLL
    for (int n = 0; n < width / 8; n += 2) {
      const MatrixParts<Element> v = values_of<width, Element>(block, values, step, n);
      out[n] = block.mma(weights[step], operand_of(v, 0), out[n]);
      out[n + 1] = block.mma(weights[step], operand_of(v, 1), out[n + 1]);
    }
  }
}

/// A value that is NaN or infinite would spoil the queries it is hidden from, as 0 NaN is NaN: it counts as 0, and
/// makes NaN of its column for those that see it. Splits a tile of values into these and where such stood, 1, else 0.
template <int width, BlockContext B, class Shared>
SOFTCHECK_BODY void split_spoilt(B& block, const Shared& values, const Shared& spoilt) {
  using Element = decltype(values.load(0));
  SOFTCHECK_ROLL
  for (int i = block.rank(); i < keys_of_tile * width; i += block.size()) {
    const int place = i / width * tile_stride<width> + i % width;
    const bool finite = is_finite(values.load(place));
    spoilt.store(place, narrowed<Element>(finite ? 0.0F : 1.0F));
    if (!finite) values.store(place, Element{});
  }
}

/// NaN where a query sees what is spoilt; bit 4 n + e of seen: entry e of the scores of keys 8 n on.
template <int width, BlockContext B, class Shared>
SOFTCHECK_BODY void spoil(B& block, const Shared& spoilt, unsigned seen, FragmentC (&out)[width / 8]) {
  using Element = decltype(spoilt.load(0));
  FragmentC one[keys_of_tile / 8];
  SOFTCHECK_UNROLL
  for (int i = 0; i < keys_of_tile / 2; ++i) one[i / 4].entry[i % 4] = (seen >> i & 1U) != 0 ? 1.0F : 0.0F;
  FragmentA<Element> queries[keys_of_tile / 16];
  as_operands(one, queries);
  SOFTCHECK_UNROLL
  for (int n = 0; n < width / 8; n += 2) {
    FragmentC met[2] = {{{0, 0, 0, 0}}, {{0, 0, 0, 0}}};
    SOFTCHECK_UNROLL
    for (int step = 0; step < keys_of_tile / 16; ++step) {
      const MatrixParts<Element> bad = values_of<width, Element>(block, spoilt, step, n);
      SOFTCHECK_UNROLL
      for (int i = 0; i < 2; ++i) met[i] = block.mma(queries[step], operand_of(bad, i), met[i]);
    }
    SOFTCHECK_UNROLL
    for (int e = 0; e < 8; ++e) {
      if (met[e / 4].entry[e % 4] > 0) out[n + e / 4].entry[e % 4] = not_a_number<float>();
    }
  }
}

}  // namespace softcheck::kernels
