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

/// What the attention kernels get, shapes as in kernels/abi/softcheck_kernel.h. lse, entropy and maximum (batch, heads,
/// queries, 1) may be without elements: then nobody asked.
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
};

/// A query and the keys that it may see.
template <BlockContext B, class Element, class Result>
struct QueryScores {
  using T = Accumulator<Element>;

  const AttentionArguments<B, Element, Result>& arguments;
  const typename B::template Shared<T>& q;  // the query, widened
  std::int64_t batch, head, key_head, query;
  std::int64_t columns;  // keys up to the last one that it may see

  SOFTCHECK_BODY QueryScores(const AttentionArguments<B, Element, Result>& all,
                             const typename B::template Shared<T>& shared_query, std::int64_t item)
      : arguments(all), q(shared_query) {
    query = item % all.queries;
    head = item / all.queries % all.heads;
    batch = item / all.queries / all.heads;
    key_head = head / (all.heads / all.key_heads);
    // The last query sees the last key.
    const std::int64_t last = query + all.keys - all.queries + 1;
    columns = all.causal && last < all.keys ? last : all.keys;
  }

  /// scale q k of a key, -inf where it is hidden.
  SOFTCHECK_BODY T visible(std::int64_t key) const {
    if (key >= columns) return minus_infinity<T>();
    if (arguments.masked && arguments.mask.load(batch, head, query, key) == 0) return minus_infinity<T>();
    T dot = 0;
    for (std::int64_t i = 0; i < arguments.dim; ++i) {
      dot = fused(q.load(i), widened(arguments.k.load(batch, key_head, key, i)), dot);
    }
    return dot * arguments.scale;
  }
  SOFTCHECK_BODY T value(std::int64_t key, std::int64_t column) const {
    return widened(arguments.v.load(batch, key_head, key, column));
  }
};

}  // namespace softcheck::kernels
