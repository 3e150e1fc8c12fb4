#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/call/version_2_views.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/row_state.hpp"

// The k largest coefficients of a softmax and their items.
namespace softcheck::kernels::cpu {

/// The k largest logits of a row so far, as a heap whose first element is removed next. Among equal logits the lowest
/// index stays.
template <class T>
class LargestItems {
 public:
  struct Item {
    T logit;
    std::int32_t index;
    bool operator<(const Item& other) const {  // comes before the other one in the result
      return logit > other.logit || (logit == other.logit && index < other.index);
    }
  };

  explicit LargestItems(std::size_t k) : k_(k) { items_.reserve(k); }

  void clear() { items_.clear(); }
  /// Indices ascend from one call to the next.
  void add(T logit, std::int64_t index) {
    if (items_.size() == k_) {
      if (!(logit > items_.front().logit)) {
        return;
      }
      std::pop_heap(items_.begin(), items_.end());
      items_.pop_back();
    }
    items_.push_back({logit, static_cast<std::int32_t>(index)});
    std::push_heap(items_.begin(), items_.end());
  }
  /// Could a logit no larger than this one be added?
  bool takes(T largest) const { return items_.size() < k_ || largest > items_.front().logit; }
  /// All of them, the largest first.
  const std::vector<Item>& sorted() {
    std::sort_heap(items_.begin(), items_.end());
    return items_;
  }

 private:
  std::size_t k_;
  std::vector<Item> items_;
};

inline void put_id(const View& ids, std::int64_t row, std::int64_t place, std::int32_t id) {
  std::memcpy(ids.at(row, place), &id, sizeof id);
}

/// Of a row without a softmax: weights of NaN, the first k items.
inline void put_undefined_choice(const TopkViews& views, std::int64_t row) {
  for (std::int64_t a = 0; a < views.k; ++a) {
    store_element(views.weights.at(row, a), views.weights.storage, std::numeric_limits<float>::quiet_NaN());
    put_id(views.ids, row, a, static_cast<std::int32_t>(a));
  }
}

/// Weights in double until they are written: 1 / S, and under renormalize the sum of the chosen ones, are no roundings
/// of an f32 kernel.
template <class T>
void topk_row(const TopkViews& views, std::int64_t row, LargestItems<T>& largest) {
  const RowReader<T> logits(views.logits, nullptr, row);
  const RowState<T> state = row_state(logits, T(1));
  if (state.undefined || state.none_visible()) {
    return put_undefined_choice(views, row);
  }
  alignas(64) T buffer[block_size<T>];
  largest.clear();
  for (std::int64_t index = 0; index < logits.blocks(); ++index) {
    const T* values = logits.read(index, buffer);
    const std::size_t count = logits.length(index);
    if (!largest.takes(block_maximum(values, logits.padded(count)))) {
      continue;
    }
    const std::int64_t first = index * static_cast<std::int64_t>(block_size<T>);
    for (std::size_t i = 0; i < count; ++i) {
      largest.add(values[i], first + static_cast<std::int64_t>(i));
    }
  }
  const auto weight_of = [&](T logit) {
    const bool masked = logit == -std::numeric_limits<T>::infinity();
    return masked ? 0.0 : static_cast<double>(block_exp(logit - state.maximum));
  };
  const auto& chosen = largest.sorted();
  double sum = 1 + sum_minus_one(state.sums);
  if (views.renormalize) {
    sum = 0;
    for (const auto& item : chosen) {
      sum += weight_of(item.logit);
    }
  }
  for (std::size_t a = 0; a < chosen.size(); ++a) {
    const auto place = static_cast<std::int64_t>(a);
    store_element(views.weights.at(row, place), views.weights.storage,
                  static_cast<T>(weight_of(chosen[a].logit) / sum));
    put_id(views.ids, row, place, chosen[a].index);
  }
}

/// Rows [begin, end) of a call.
template <class T>
void topk_softmax_rows(const TopkViews& views, std::int64_t begin, std::int64_t end) {
  LargestItems<T> largest(static_cast<std::size_t>(views.k));
  for (std::int64_t row = begin; views.k > 0 && row < end; ++row) {
    topk_row<T>(views, row, largest);
  }
}

}  // namespace softcheck::kernels::cpu
