#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/block/context.hpp"
#include "kernels/block/formats.hpp"

namespace softcheck::kernels {

/// A tensor of rank 4 in global memory; strides in elements.
template <class View>
struct Tensor4 {
  View elements;
  std::int64_t strides[4] = {0, 0, 0, 0};

  SOFTCHECK_BODY std::int64_t place(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) const {
    return i * strides[0] + j * strides[1] + k * strides[2] + l * strides[3];
  }
  SOFTCHECK_BODY auto load(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l) const {
    return elements.load(place(i, j, k, l));
  }
  /// Nothing where the tensor is not asked for.
  template <class Value>
  SOFTCHECK_BODY void store(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l, Value value) const {
    if (elements.size() > 0) elements.store(place(i, j, k, l), value);
  }
  /// Of one value a query, rounded from double.
  SOFTCHECK_BODY void store_wide(std::int64_t i, std::int64_t j, std::int64_t k, double value) const {
    using Element = std::remove_cvref_t<decltype(elements.load(0))>;
    store(i, j, k, 0, narrowed<Element>(static_cast<Accumulator<Element>>(value)));
  }
};

/// Cumulative lengths of packed sequences, of int32 or of int64: one of the two has elements.
template <BlockContext B>
struct SequenceOffsets {
  template <class T>
  using Global = typename B::template Global<T>;

  Global<const std::int32_t> narrow;
  Global<const std::int64_t> wide;
  std::int64_t stride = 1;

  /// Within [least, total]: nobody has looked at lengths that lie on a device, and none leads out of a tensor.
  SOFTCHECK_BODY std::int64_t load(std::int64_t index, std::int64_t least, std::int64_t total) const {
    const std::int64_t end = wide.size() > 0 ? wide.load(index * stride) : narrow.load(index * stride);
    return end < least ? least : end < total ? end : total;
  }
};

/// A sequence's places in the tensors. Its last query sees its last key.
struct SequencePlaces {
  std::int64_t first_query, query_end, first_key, key_end;
};

/// The last index in [0, count) with start(index) <= place, start never falling; 0 where there is none.
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

/// What the attention kernels get, shapes as in kernels/abi/softcheck_kernel.h. lse, entropy and maximum (batch, heads,
/// queries, 1) may be without elements: then nobody asked. Packed sequences lie one behind the other in tensors of one
/// batch; what lies behind the last one is neither read nor written.
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

  SOFTCHECK_BODY SequencePlaces sequence(std::int64_t index) const {
    const std::int64_t first_query = query_offsets.load(index, 0, queries),
                       first_key = key_offsets.load(index, 0, keys);
    return {first_query, query_offsets.load(index + 1, first_query, queries), first_key,
            key_offsets.load(index + 1, first_key, keys)};
  }
  /// Of the sequence that a place of q is in; behind the last one: of that.
  SOFTCHECK_BODY SequencePlaces sequence_of_query(std::int64_t place) const {
    if (sequences == 0) return {0, queries, 0, keys};
    return sequence(last_start(sequences, place, [&](std::int64_t i) { return query_offsets.load(i, 0, queries); }));
  }
  SOFTCHECK_BODY SequencePlaces sequence_of_key(std::int64_t place) const {
    if (sequences == 0) return {0, queries, 0, keys};
    return sequence(last_start(sequences, place, [&](std::int64_t i) { return key_offsets.load(i, 0, keys); }));
  }
};

/// A query and the keys that it may see, which count from the first one of its sequence.
template <BlockContext B, class Element, class Result>
struct QueryScores {
  using T = Accumulator<Element>;

  const AttentionArguments<B, Element, Result>& arguments;
  const typename B::template Shared<T>& q;  // the query, widened
  std::int64_t batch, head, key_head, query;
  std::int64_t first_key, keys;
  std::int64_t columns;  // keys up to the last one that it may see
  bool inside;           // of a sequence

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

  /// scale q k of a key, -inf where it is hidden.
  SOFTCHECK_BODY T visible(std::int64_t key) const {
    if (key >= columns) return minus_infinity<T>();
    if (arguments.masked && arguments.mask.load(batch, head, query, key) == 0) return minus_infinity<T>();
    T dot = 0;
    for (std::int64_t i = 0; i < arguments.dim; ++i) {
      dot = fused(q.load(i), widened(arguments.k.load(batch, key_head, first_key + key, i)), dot);
    }
    return dot * arguments.scale;
  }
  SOFTCHECK_BODY T value(std::int64_t key, std::int64_t column) const {
    return widened(arguments.v.load(batch, key_head, first_key + key, column));
  }
};

}  // namespace softcheck::kernels
