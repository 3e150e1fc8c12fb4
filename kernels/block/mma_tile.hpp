#pragma once

#include "kernels/block/attention.hpp"

namespace softcheck::kernels {

// Attention by tensor cores, for elements of f16 and bf16. A block computes a tile of 64 queries of one head, a warp 16
// of them; the block takes the keys in tiles of 32. A head has up to width columns, 64 or 128: the launcher takes the
// narrower width that holds dim and value_dim, and refuses more (with_mma_width of kernels/block/abi).
//
// A warp has the scores, weights and outputs of its 16 queries in fragments of mma (kernels/block/mma.hpp). Of each, a
// lane holds parts of two queries, row(0) and row(1) of its QueryTile; four lanes, those with the same lane / 4, share
// a query. half, 0 or 1, is one of a lane's two queries: entries 2 half and 2 half + 1 of every FragmentC are its.

/// Threads of a block.
inline constexpr int mma_threads = 128;
/// Queries of a warp: the rows of one mma.
inline constexpr int queries_of_warp = 16;
/// Queries of a block.
inline constexpr int queries_of_tile = mma_threads / warp_size * queries_of_warp;
/// Keys of a tile.
inline constexpr int keys_of_tile = 32;
/// Elements of a chunk, which a thread moves by one instruction: 16 bytes.
inline constexpr int elements_of_chunk = 8;
/// Elements from one row of a tile in shared memory to the next. A row is width elements and one chunk more, so that
/// the eight rows of a matrix lie in different banks.
template <int width>
inline constexpr int tile_stride = width + elements_of_chunk;

/// Shared memory of a block of mma_attention_body, in bytes: tiles of queries, keys and values, and an int a warp.
template <int width, class Element>
inline constexpr std::size_t mma_bytes =
    (queries_of_tile + 2 * keys_of_tile) * tile_stride<width> * sizeof(Element) + mma_threads / warp_size * sizeof(int);

/// The number, within a head, of the first tile of a packed sequence: floor(start / 64) + sequence. No tile then
/// straddles two sequences. A sequence has as many tiles as it needs or one more; the last sequence also has the tiles
/// of the places after it.
template <class Arguments>
SOFTCHECK_BODY std::int64_t first_tile(const Arguments& arguments, std::int64_t sequence) {
  return arguments.query_offsets.load(sequence, 0, arguments.queries) / queries_of_tile + sequence;
}
/// Tiles of a head. A block takes tiles of all heads in turn: item = (batch * heads + head) * tiles_of_head + tile.
template <class Arguments>
constexpr std::int64_t tiles_of_head(const Arguments& arguments) {
  if (arguments.sequences > 0) return arguments.queries / queries_of_tile + arguments.sequences;
  return (arguments.queries + queries_of_tile - 1) / queries_of_tile;
}

/// One thread's view of the tile of queries of one item.
template <BlockContext B, class Element, class Result>
struct QueryTile {
  using T = Accumulator<Element>;

  const AttentionArguments<B, Element, Result>& arguments;
  std::int64_t batch, head, key_head;
  std::int64_t begin, first;  // the first query of the block, and of the warp
  SequencePlaces of;          // the sequence that the tile is in
  std::int64_t columns;       // the end of the keys that causality lets any query of the block see
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
    // Wrong lengths on a device may not start at 0. A tile before the first sequence then has no queries.
    begin = tile < 0 ? of.query_end : of.first_query + tile * queries_of_tile;
    const std::int64_t end = begin + queries_of_tile;
    first = begin + block.warp() * queries_of_warp;
    const std::int64_t seen = (end < of.query_end ? end : of.query_end) + of.key_end - of.query_end;
    columns = begin >= of.query_end ? of.first_key : all.causal && seen < of.key_end ? seen : of.key_end;
  }

  /// The place in q of this lane's query half. It may lie beyond of.query_end: then there is no such query.
  SOFTCHECK_BODY std::int64_t row(int half) const { return first + place_in_c(lane, 2 * half).row; }

  /// How many of the keys_of_tile keys from begin on causality lets row(half) see: always the first ones. 0 if there
  /// is no such query.
  SOFTCHECK_BODY int seen_keys(int half, std::int64_t begin) const {
    const std::int64_t query = row(half), last = query + 1 - of.query_end + of.key_end;
    const std::int64_t end = arguments.causal && last < columns ? last : columns;
    if (query >= of.query_end || end <= begin) return 0;
    return static_cast<int>(end - begin < keys_of_tile ? end - begin : keys_of_tile);
  }
  /// Whether the mask hides a key from row(half), a query that exists.
  SOFTCHECK_BODY bool masked(int half, std::int64_t key) const {
    return arguments.masked && arguments.mask.load(batch, head, row(half), key) == 0;
  }
};

/// Whether a thread may move a tensor's rows of dim elements a chunk at a time: contiguous elements, and every row at a
/// multiple of 16 bytes and of whole chunks.
template <class Source>
SOFTCHECK_BODY bool moves_by_chunks(const Source& from, std::int64_t dim) {
  const std::int64_t together = from.strides[0] | from.strides[1] | from.strides[2] | dim;
  return from.strides[3] == 1 && together % elements_of_chunk == 0 &&
         from.elements.template aligned<elements_of_chunk>(0);
}

/// A chunk as words of two elements.
template <class Element>
SOFTCHECK_BODY Vector<std::uint32_t, elements_of_chunk / 2> pairs_of(const Vector<Element, elements_of_chunk>& chunk) {
  return std::bit_cast<Vector<std::uint32_t, elements_of_chunk / 2>>(chunk);
}

/// Loads rows_of_tile rows of a head, from begin on, into a tile (rows_of_tile, width) of shared memory. Rows from end
/// on and columns from dim on become zeros. All threads of the block call it. The caller puts a barrier before it, if a
/// thread may still read the tile, and one after it, before any thread reads it.
///
/// by_chunks   moves_by_chunks of the tensor and dim
/// returns     false if this thread has loaded an element that is NaN or infinite
template <int width, int rows_of_tile, BlockContext B, class Source, class Shared>
SOFTCHECK_BODY bool load_tile(B& block, const Source& from, bool by_chunks, std::int64_t batch, std::int64_t head,
                              std::int64_t begin, std::int64_t end, std::int64_t dim, const Shared& to) {
  using Element = decltype(to.load(0));
  bool finite = true;
  if (by_chunks) {
    // A thread moves one chunk in each of count rows, always in the same columns. All loads come before the first
    // store.
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

/// Matrices 2 i and 2 i + 1 of a lane's parts, as the 16 rows of operand B.
template <class Element>
SOFTCHECK_BODY FragmentB<Element> operand_of(const MatrixParts<Element>& parts, int i) {
  FragmentB<Element> operand;
  operand.word[0] = parts.word[2 * i];
  operand.word[1] = parts.word[2 * i + 1];
  return operand;
}

/// The scores scale q k of a warp's 16 queries with the tile's 32 keys; -inf if a key is hidden, and for a query
/// that does not exist. All lanes of the warp call it.
///
/// queries   (queries_of_tile, width) of the block, in shared memory at tile_stride
/// keys      (keys_of_tile, width), likewise; the first of them is key begin of the tensor
/// x         entry e of x[n] belongs to query place_in_c(lane, e).row and key 8 n + place_in_c(lane, e).column
/// error     exact products of elements, added by mma 16 dimensions at a time; the emulator rounds each mma once to
///           f32, a tensor core truncates (docs/kernels/gpu_kernels.md)
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
      // Four matrices: queries 0 to 7 and 8 to 15, in dimensions 0 to 7 of this step and in 8 to 15.
      const int row = block.warp() * queries_of_warp + tile.lane % 16;
      static_cast<Entries<Element, 8>&>(q[i]) =
          block.template load_matrices<false>(queries, row * tile_stride<width> + 16 * (step + i) + tile.lane / 16 * 8);
    }
    SOFTCHECK_UNROLL
    for (int n = 0; n < keys_of_tile / 8; ++n) {
      // Four matrices: the same 8 keys in 32 dimensions, 8 to a matrix.
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

/// The weights of a tile, rounded to the values' format, as operands A of the product with the values: from[2 step] and
/// from[2 step + 1] become to[step], 16 keys. Lanes keep what they hold, because the entries of C and of A lie in the
/// same places.
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

/// The states of the four lanes that share a query merged, returned to each of them with the same bits. All lanes of
/// the warp call it.
template <BlockContext B, class State, class Merge>
SOFTCHECK_BODY State merged_by_row(B& block, State own, Merge merge) {
  for (int distance = 1; distance < 4; distance *= 2) {
    const State other = block.shuffle_xor(whole_warp, own, distance);
    const bool upper = (block.lane() & distance) != 0;
    own = merge(upper ? other : own, upper ? own : other);
  }
  return own;
}

/// The values of keys 16 step to 16 step + 15 in columns 8 n to 8 n + 15, as two operands B (operand_of 0 and 1, 8
/// columns each). All lanes of the warp call it.
///
/// values   (keys_of_tile, width) in shared memory at tile_stride
template <int width, class Element, BlockContext B, class Shared>
SOFTCHECK_BODY MatrixParts<Element> values_of(B& block, const Shared& values, int step, int n) {
  const int lane = block.lane();
  return block.template load_matrices<true>(values,
                                            (16 * step + lane % 16) * tile_stride<width> + 8 * n + lane / 16 * 8);
}

/// out += weights values: adds the products of a warp's (16, 32) weights and the tile's (32, width) values. Entry e of
/// out[n] belongs to query place_in_c(lane, e).row and column 8 n + place_in_c(lane, e).column. All lanes of the warp
/// call it. An output takes two mma a tile, each as score_tile says, and no compensation.
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

/// Splits a tile of values that contains a NaN or an infinity: such a value becomes 0 in values, and non_finite becomes
/// 1 in its place and 0 elsewhere. Without that, its product with the weight 0 of a query that it is hidden from would
/// be NaN. propagate_nan() then writes NaN for the queries that see it. All threads of the block call it, between
/// barriers.
///
/// values, non_finite   (keys_of_tile, width) in shared memory at tile_stride
template <int width, BlockContext B, class Shared>
SOFTCHECK_BODY void split_non_finite(B& block, const Shared& values, const Shared& non_finite) {
  using Element = decltype(values.load(0));
  SOFTCHECK_ROLL
  for (int i = block.rank(); i < keys_of_tile * width; i += block.size()) {
    const int place = i / width * tile_stride<width> + i % width;
    const bool finite = is_finite(values.load(place));
    non_finite.store(place, narrowed<Element>(finite ? 0.0F : 1.0F));
    if (!finite) values.store(place, Element{});
  }
}

/// Sets out to NaN in each column of each query where the query sees a key whose value was NaN or infinite: where the
/// product of the keys that it sees with non_finite is > 0. All lanes of the warp call it.
///
/// seen   bit 4 n + e: whether the query of entry e of x[n], x as of score_tile, sees that entry's key
template <int width, BlockContext B, class Shared>
SOFTCHECK_BODY void propagate_nan(B& block, const Shared& non_finite, unsigned seen, FragmentC (&out)[width / 8]) {
  using Element = decltype(non_finite.load(0));
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
      const MatrixParts<Element> bad = values_of<width, Element>(block, non_finite, step, n);
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
