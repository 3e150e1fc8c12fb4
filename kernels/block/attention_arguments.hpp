#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/block/context.hpp"
#include "kernels/block/formats.hpp"

namespace softcheck::kernels {

/// A tensor of rank 4 in global memory, without its shape: the caller must stay inside. Strides count elements.
template <class View>
struct Tensor4 {
  View elements;
  std::int64_t strides[4] = {0, 0, 0, 0};

  /// The index of (i, j, k, l) in elements.
  SOFTCHECK_BODY std::int64_t place(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) const {
    return i * strides[0] + j * strides[1] + k * strides[2] + l * strides[3];
  }
  SOFTCHECK_BODY auto load(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) const {
    return elements.load(place(i, j, k, l));
  }
  /// Writes an element. Does nothing if the call lacks the tensor, which then has no elements.
  template <class Value>
  SOFTCHECK_BODY void store(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l, Value value) const {
    if (elements.size() > 0) elements.store(place(i, j, k, l), value);
  }
  /// Writes (i, j, k, 0) of a tensor with one value a query. A double is rounded to the accumulator's format, then to
  /// the tensor's.
  SOFTCHECK_BODY void store_wide(std::int64_t i, std::int64_t j, std::int64_t k, double value) const {
    using Element = std::remove_cvref_t<decltype(elements.load(0))>;
    store(i, j, k, 0, narrowed<Element>(static_cast<Accumulator<Element>>(value)));
  }
};

/// Cumulative lengths of packed sequences: (sequences + 1) numbers, from 0 on. The launcher fills in narrow (int32) or
/// wide (int64) and leaves the other without elements. stride counts numbers.
template <BlockContext B>
struct SequenceOffsets {
  template <class T>
  using Global = typename B::template Global<T>;

  Global<const std::int32_t> narrow;
  Global<const std::int64_t> wide;
  std::int64_t stride = 1;

  /// Number index, clamped to [least, total]. The host cannot check lengths that lie on a device; clamped, wrong ones
  /// do not lead out of a tensor.
  SOFTCHECK_BODY std::int64_t load(std::int64_t index, std::int64_t least, std::int64_t total) const {
    const std::int64_t end = wide.size() > 0 ? wide.load(index * stride) : narrow.load(index * stride);
    return end < least ? least : end < total ? end : total;
  }
};

/// The queries [first_query, query_end) and keys [first_key, key_end) of a sequence in the packed tensors. Under a
/// causal mask its last query sees its last key.
struct SequencePlaces {
  std::int64_t first_query, query_end, first_key, key_end;
};

/// The last index in [0, count) with start(index) <= place, by bisection; 0 if there is none. start never decreases.
template <class Start>
SOFTCHECK_BODY std::int64_t last_start(std::int64_t count, std::int64_t place, Start start) {
  std::int64_t low = 0, high = count;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    if (start(middle) <= place) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The arguments of the attention kernels, which the launcher fills in (kernels/block/abi/attention_calls.hpp).
///
/// q                      (batch, heads, queries, dim)
/// k                      (batch, key_heads, keys, dim); head h reads key head h / (heads / key_heads)
/// v                      (batch, key_heads, keys, value_dim)
/// mask                   (batch, heads, queries, keys) of bytes, read where masked is true; byte 0 hides the key. A
///                        mask for all heads has stride 0 there.
/// out                    (batch, heads, queries, value_dim)
/// lse, entropy, maximum  (batch, heads, queries, 1), in nats, nats and units of the scores; without elements if the
/// call
///                        lacks them
/// causal                 query i sees keys up to i + keys - queries
/// scale                  a score is scale q k
/// sequences              the number of packed sequences, 0 if the call is not packed. The sequences follow one another
///                        in tensors of one batch; the kernels do not read or write memory after the last one.
template <BlockContext B, class Element, class Result>
struct AttentionArguments {
  template <class T>
  using Global = typename B::template Global<T>;

  Tensor4<Global<const Element>> q, k, v;
  Tensor4<Global<const std::uint8_t>> mask;
  Tensor4<Global<Element>> out;
  Tensor4<Global<Result>> lse, entropy, maximum;
  bool masked = false;
  bool causal = false;
  std::int64_t batch = 0, heads = 0, key_heads = 1, queries = 0, keys = 0, dim = 0, value_dim = 0;
  Accumulator<Element> scale = 1;
  std::int64_t sequences = 0;  // 0: not packed
  SequenceOffsets<B> query_offsets, key_offsets;

  /// Sequence index of a packed call, clamped to the tensors.
  SOFTCHECK_BODY SequencePlaces sequence(std::int64_t index) const {
    const std::int64_t first_query = query_offsets.load(index, 0, queries),
                       first_key = key_offsets.load(index, 0, keys);
    return {first_query, query_offsets.load(index + 1, first_query, queries), first_key,
            key_offsets.load(index + 1, first_key, keys)};
  }
  /// The sequence that contains query place. For a place after the last sequence it returns the last one, so the caller
  /// must check that place is inside. A call that is not packed is one sequence.
  SOFTCHECK_BODY SequencePlaces sequence_of_query(std::int64_t place) const {
    if (sequences == 0) return {0, queries, 0, keys};
    return sequence(last_start(sequences, place, [&](std::int64_t i) { return query_offsets.load(i, 0, queries); }));
  }
  /// The sequence that key place is in, likewise.
  SOFTCHECK_BODY SequencePlaces sequence_of_key(std::int64_t place) const {
    if (sequences == 0) return {0, queries, 0, keys};
    return sequence(last_start(sequences, place, [&](std::int64_t i) { return key_offsets.load(i, 0, keys); }));
  }
};

/// A query and its scores, as the threads of a block compute them. Keys are numbered from the first key of the query's
/// sequence on. row_statistics takes it as a row of items.
template <BlockContext B, class Element, class Result>
struct QueryScores {
  using T = Accumulator<Element>;

  const AttentionArguments<B, Element, Result>& arguments;
  const typename B::template Shared<T>& q;  // (dim), the query, widened: load_query stores it
  std::int64_t batch, head, key_head, query;
  std::int64_t first_key, keys;  // of its sequence
  std::int64_t columns;          // number of keys up to the last one that causality lets it see; <= 0 if it sees none
  bool inside;                   // whether the query is in a sequence; else the block does not write its results

  /// item: number of the query, (batch * heads + head) * queries + query.
  SOFTCHECK_BODY QueryScores(const AttentionArguments<B, Element, Result>& all,
                             const typename B::template Shared<T>& shared_query, std::int64_t item)
      : arguments(all), q(shared_query) {
    query = item % all.queries;
    head = item / all.queries % all.heads;
    batch = item / all.queries / all.heads;
    key_head = head / (all.heads / all.key_heads);
    const SequencePlaces of = all.sequence_of_query(query);
    inside = query >= of.first_query && query < of.query_end;
    first_key = of.first_key;
    keys = of.key_end - of.first_key;
    const std::int64_t seen = query + 1 - of.query_end + keys;
    columns = all.causal && seen < keys ? seen : keys;
  }

  /// The score scale q k of a key; -inf if the key is hidden or does not exist. One thread computes it, by one fma for
  /// each dimension, in order, and one product: B9 of docs/tolerances.md.
  SOFTCHECK_BODY T visible(std::int64_t key) const {
    if (key >= columns) return minus_infinity<T>();
    if (arguments.masked && arguments.mask.load(batch, head, query, key) == 0) return minus_infinity<T>();
    T dot = 0;
    for (std::int64_t i = 0; i < arguments.dim; ++i) {
      dot = fused(q.load(i), widened(arguments.k.load(batch, key_head, first_key + key, i)), dot);
    }
    return dot * arguments.scale;
  }
  /// Element column of a key's value, widened.
  SOFTCHECK_BODY T value(std::int64_t key, std::int64_t column) const {
    return widened(arguments.v.load(batch, key_head, first_key + key, column));
  }
};

}  // namespace softcheck::kernels
