#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/block/attention.hpp"
#include "kernels/cpu/attention_views.hpp"
#include "kernels/strict/attention_passes.hpp"

namespace softcheck::kernels::strict {

static_assert(attention_threads == row_threads);

/// One tile of tile_queries queries of a head after the other, each query as a block of kernels/block/attention.hpp
/// computes it. Memory: O((dim + value_dim) block_keys), whatever the call.
template <class T>
class AttentionTile {
 public:
  explicit AttentionTile(const AttentionViews& views)
      : views_(views),
        columns_((views.value_dim() + most_lanes<T> - 1) / most_lanes<T> * most_lanes<T>),
        queries_(tile_queries * views.dim()),
        keys_(views.dim() * block_keys),
        values_(block_keys * columns_),
        scores_(tile_queries * items_of_block),
        sums_(2 * tile_queries * columns_),
        held_(tile_queries) {}

  /// Queries first to first + count of a head.
  void attend(std::int64_t batch, std::int64_t head, std::int64_t first, std::size_t count, bool adaptive) {
    batch_ = batch;
    head_ = head;
    first_ = first;
    count_ = count;
    begin();
    if (adaptive) find_betas();
    for (std::int64_t key = 0; key < columns_seen(count_ - 1); key += std::int64_t{block_keys}) {
      score(key, scores_.data(), block_keys);
      load_values(key);
      for (std::size_t i = 0; i < count_; ++i) weigh(i, key, adaptive);
    }
    for (std::size_t i = 0; i < count_; ++i) write(i);
  }

 private:
  struct Held {
    QueryState<T> state;
    T beta;
    bool attends;  // no: there is nothing to see, or no result
  };

  std::int64_t query(std::size_t i) const { return first_ + static_cast<std::int64_t>(i); }
  std::int64_t key_head() const { return head_ / views_.group(); }
  /// Keys up to the last one that it may see: never fewer than those of the query before.
  std::int64_t columns_seen(std::size_t i) const {
    const std::int64_t last = query(i) + views_.keys() - views_.queries() + 1;
    return views_.causal && last < views_.keys() ? std::max<std::int64_t>(last, 0) : views_.keys();
  }

  /// count elements of the last dimension, step apart in to.
  void load_row(const View4& from, std::int64_t head, std::int64_t place, std::size_t count, T* to,
                std::size_t step) const {
    const std::byte* first = from.at(batch_, head, place);
    for (std::size_t i = 0; i < count; ++i) {
      to[i * step] = load_element<T>(first + static_cast<std::int64_t>(i) * from.strides[3], from.storage);
    }
  }

  void begin() {
    for (std::size_t i = 0; i < count_; ++i) {
      load_row(views_.q, head_, query(i), views_.dim(), queries_.data() + i * views_.dim(), 1);
      T* sums = sums_.data() + 2 * i * columns_;
      held_[i] = {{minus_infinity<T>(), {}, {}, sums, sums + columns_, columns_}, T(1), true};
    }
    std::fill(sums_.begin(), sums_.end(), T(0));
  }

  std::size_t keys_from(std::int64_t key) const {
    return static_cast<std::size_t>(std::min<std::int64_t>(block_keys, views_.keys() - key));
  }

  /// A block's keys for every query, -inf where a key is hidden or there is none.
  void score(std::int64_t key, T* scores, std::size_t stride) {
    const std::size_t count = keys_from(key);
    std::fill(keys_.begin(), keys_.end(), T(0));
    for (std::size_t j = 0; j < count; ++j) {
      load_row(views_.k, key_head(), key + static_cast<std::int64_t>(j), views_.dim(), keys_.data() + j, block_keys);
    }
    score_block(queries_.data(), count_, views_.dim(), keys_.data(), static_cast<T>(views_.scale), scores, stride);
    for (std::size_t i = 0; i < count_; ++i) hide(i, key, scores + i * stride);
  }

  void hide(std::size_t i, std::int64_t key, T* scores) const {
    const std::int64_t seen = std::clamp<std::int64_t>(columns_seen(i) - key, 0, block_keys);
    std::fill(scores + seen, scores + block_keys, minus_infinity<T>());
    if (!views_.mask) return;
    const std::int64_t head = views_.mask->shape[1] == 1 ? 0 : head_;
    for (std::int64_t j = 0; j < seen; ++j) {
      if (*views_.mask->at(batch_, head, query(i), key + j) == std::byte{0}) scores[j] = minus_infinity<T>();
    }
  }

  /// The first pass of adaptive attention: each query's maximum and beta.
  void find_betas() {
    std::vector<BlockState<T>> states(count_);
    for (BlockState<T>& state : states) clear(state, threads);
    for (std::int64_t key = 0; key < columns_seen(count_ - 1); key += std::int64_t{items_of_block}) {
      std::size_t items = 0;
      for (; items < items_of_block && key + static_cast<std::int64_t>(items) < columns_seen(count_ - 1);
           items += block_keys) {
        score(key + static_cast<std::int64_t>(items), scores_.data() + items, items_of_block);
      }
      for (std::size_t i = 0; i < count_; ++i) {
        add_items(states[i], scores_.data() + i * items_of_block, items, T(1), true);
      }
    }
    for (std::size_t i = 0; i < count_; ++i) {
      const RowStatistics<T> all = merge_threads(states[i], threads, T(1));
      held_[i].state.maximum = all.maximum;
      held_[i].attends = all.maximum > minus_infinity<T>();
      if (held_[i].attends) held_[i].beta = static_cast<T>(adaptive_beta(entropy_of(all)));
    }
  }

  void load_values(std::int64_t key) {
    const std::size_t count = keys_from(key);
    for (std::size_t j = 0; j < count; ++j) {
      load_row(views_.v, key_head(), key + static_cast<std::int64_t>(j), views_.value_dim(),
               values_.data() + j * columns_, 1);
    }
  }

  void weigh(std::size_t i, std::int64_t key, bool maximum_known) {
    Held& held = held_[i];
    if (!held.attends || key >= columns_seen(i)) return;
    T weights[block_keys];
    held.attends = weigh_block(scores_.data() + i * block_keys, held.beta, maximum_known, held.state, weights);
    if (held.attends) add_values(weights, values_.data(), keys_from(key), held.state);
  }

  /// write_query().
  void write(std::size_t i) {
    QueryState<T>& state = held_[i].state;
    RowStatistics<T> row = no_items<T>();
    row.weights = merge_threads(state.weights, threads);
    row.deviations = merge_threads(state.deviations, threads);
    const T factor = T(1) / row.weights.total();
    row.weights.add(T(-1));
    const T largest = state.maximum;
    const bool empty = largest == minus_infinity<T>();
    const bool defined = largest < std::numeric_limits<T>::infinity();
    std::byte* to = views_.out.at(batch_, head_, query(i));
    for (std::size_t c = 0; c < views_.value_dim(); ++c) {
      T result = empty ? T(0) : (state.value[c] + state.rest[c]) * factor;
      if (!defined) result = not_a_number<T>();
      store_element(to + static_cast<std::int64_t>(c) * views_.out.strides[3], views_.out.storage, result);
    }
    double lse = static_cast<double>(largest), entropy = 0;
    if (!defined) {
      lse = entropy = not_a_number<double>();
    } else if (!empty) {
      lse = static_cast<double>(held_[i].beta) * static_cast<double>(largest) + logarithm_of_sum(row);
      entropy = entropy_of(row);
    }
    store(views_.lse, i, lse);
    store(views_.entropy, i, entropy);
  }

  void store(const std::optional<View4>& to, std::size_t i, double value) const {
    if (to) store_element(to->at(batch_, head_, query(i)), to->storage, value);
  }

  const AttentionViews& views_;
  std::size_t columns_;
  std::vector<T> queries_, keys_, values_, scores_, sums_;
  std::vector<Held> held_;
  std::int64_t batch_ = 0, head_ = 0, first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace softcheck::kernels::strict
