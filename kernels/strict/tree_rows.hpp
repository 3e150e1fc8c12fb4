#pragma once

#include <algorithm>
#include <type_traits>

#include "kernels/block/abi/tree_views.hpp"
#include "kernels/block/tree_rows.hpp"
#include "kernels/strict/rows.hpp"
#include "kernels/strict/tree_passes.hpp"

namespace softcheck::kernels::strict {

/// The tree kernels of kernels/block/tree_rows.hpp, one row of a call at a time, a tile at a time: logits of f32, f16
/// or bf16. Each system thread needs an object of its own. The views must outlive it.
class StrictTreeRows {
 public:
  explicit StrictTreeRows(const TreeViews& views)
      : views_(views),
        tile_(views.logits.storage == Storage::f32 ? tile_items<float> : tile_items<Half>),
        scale_(static_cast<float>(1 / views.theta)) {}

  void softmax(std::int64_t row) { write_weights(row, statistics(row, scale_, false), scale_); }
  void log_softmax(std::int64_t row) {
    const TreeStatistics all = statistics(row, scale_, false);
    const auto shift = static_cast<float>(all.logarithm());
    write(row, [&](std::int64_t, const float* x) {
      for (std::size_t i = 0; i < tile_; ++i) weights_[i] = (x[i] - all.maximum) * scale_ - shift;
    });
  }
  void logsumexp(std::int64_t row) {
    store(row, statistics(row, scale_, false).logsumexp(views_.theta, 1 / views_.theta));
  }
  void entropy(std::int64_t row) { store(row, statistics(row, scale_, true).entropy()); }
  void adaptive_softmax(std::int64_t row) {
    TreeStatistics all = statistics(row, 1, true);
    const auto beta = static_cast<float>(adaptive_beta(all.entropy()));
    if (all.defined()) add_up(row, beta, false, all);
    write_weights(row, all, beta);
  }
  /// Op   a gradient of kernels/block/tree_gradients.hpp
  template <class Op>
  void gradient(std::int64_t row) {
    PairedSums<Places> sums;
    each_saved_tile(row, [&](std::int64_t, std::size_t) {
      if constexpr (std::is_same_v<Op, tree::SoftmaxBackwardKernel>) {
        sums.add(passes_.products(weights_, arguments_, tile_));
      } else {
        sums.add(passes_.sum(arguments_, tile_));
      }
    });
    const float sum = sums.total();
    each_saved_tile(row, [&](std::int64_t begin, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) weights_[i] = Op::result(weights_[i], arguments_[i], sum);
      store_tile(row, begin, count);
    });
  }
  void cross_entropy(std::int64_t row) {
    const LossAttributes loss = views_.loss_attributes();
    const std::int64_t label = views_.loss->labels[row];
    if (label == loss.ignored) return store(row, 0);
    const TreeStatistics all = statistics(row, 1, false);
    PairedSums<Places> distances;
    if (loss.smoothing != 0) {
      each_tile(row, [&](std::int64_t, const float* x, std::size_t count) {
        for (std::size_t i = 0; i < tile_; ++i) arguments_[i] = i < count ? all.maximum - x[i] : 0;
        distances.add(passes_.sum(arguments_, tile_));
      });
    }
    store(row, loss.loss(all.logarithm(), all.maximum, logit(row, label), distances.total()));
  }
  void cross_entropy_backward(std::int64_t row) {
    const LossAttributes loss = views_.loss_attributes();
    const std::int64_t label = views_.loss->labels[row];
    if (label == loss.ignored) {
      return write(row, [&](std::int64_t, const float*) { std::fill_n(weights_, tile_, 0.0F); });
    }
    const TreeStatistics all = statistics(row, 1, false);
    const View& gradient = *views_.gradient;
    const LossSlopes slopes = loss.slopes(
        has_class(label) ? load_element<float>(gradient.at(row, 0), gradient.storage) : not_a_number<float>(),
        [&] { return static_cast<double>(all.maximum) + all.logarithm(); });
    const float factor = all.factor();
    write(row, [&](std::int64_t begin, const float* x) {
      passes_.weights(x, tile_, all.maximum, 1, arguments_, weights_);
      const auto of_label = static_cast<std::size_t>(label - begin);
      const float own = of_label < tile_ ? slopes.label(weights_[of_label] * factor) : 0;
      for (std::size_t i = 0; i < tile_; ++i) weights_[i] = slopes.others(weights_[i] * factor);
      if (of_label < tile_) weights_[of_label] = own;
    });
  }

 private:
  /// The memory of PairedSums.
  struct Places {
    float sums[64] = {};
    float load(int level) const { return sums[level]; }
    void store(int level, float x) { sums[level] = x; }
  };

  /// Calls one(begin, x, count) for each tile of a row: its count items from begin on, filled up with -inf.
  template <class One>
  void each_tile(std::int64_t row, One one) {
    for (std::int64_t begin = 0; begin < views_.logits.columns; begin += static_cast<std::int64_t>(tile_)) {
      const auto count = static_cast<std::size_t>(
          std::min<std::int64_t>(static_cast<std::int64_t>(tile_), views_.logits.columns - begin));
      one(begin, read_items<float>(views_.logits, views_.mask_or_null(), row, begin, count, tile_, items_), count);
    }
  }

  /// Calls one(begin, count) with the saved results of a tile in weights_ and their gradient in arguments_, filled up
  /// with zeros.
  template <class One>
  void each_saved_tile(std::int64_t row, One one) {
    each_tile(row, [&](std::int64_t begin, const float* y, std::size_t count) {
      std::fill(std::copy(y, y + count, weights_), weights_ + tile_, 0.0F);
      const float* g = read_items<float>(*views_.gradient, nullptr, row, begin, count, count, items_);
      std::fill(std::copy(g, g + count, arguments_), arguments_ + tile_, 0.0F);
      one(begin, count);
    });
  }

  TreeStatistics statistics(std::int64_t row, float scale, bool products) {
    float largest = minus_infinity<float>();
    each_tile(row, [&](std::int64_t, const float* x, std::size_t) { largest = passes_.largest(x, tile_, largest); });
    TreeStatistics all = {tree_maximum(largest), 0, 0};
    if (all.defined()) add_up(row, scale, products, all);
    return all;
  }

  /// The sums of a row with that maximum.
  void add_up(std::int64_t row, float scale, bool products, TreeStatistics& all) {
    PairedSums<Places> sums, of_products;
    each_tile(row, [&](std::int64_t, const float* x, std::size_t) {
      passes_.weights(x, tile_, all.maximum, scale, arguments_, weights_);
      if (products) of_products.add(passes_.products(weights_, arguments_, tile_));
      sums.add(passes_.sum(weights_, tile_));
    });
    all.sum = sums.total();
    all.products = of_products.total();
  }

  bool has_class(std::int64_t label) const { return label >= 0 && label < views_.logits.columns; }
  float logit(std::int64_t row, std::int64_t label) const {
    const View& from = views_.logits;
    return has_class(label) ? load_element<float>(from.at(row, label), from.storage) : not_a_number<float>();
  }

  /// Writes what results(begin, x) leaves in weights_ for the items x of each tile, from column begin on.
  template <class Results>
  void write(std::int64_t row, Results results) {
    each_tile(row, [&](std::int64_t begin, const float* x, std::size_t count) {
      results(begin, x);
      store_tile(row, begin, count);
    });
  }
  void store_tile(std::int64_t row, std::int64_t begin, std::size_t count) const {
    const View& out = views_.output();
    store_elements(weights_, count, out.at(row, begin), out.storage, out.column_stride);
  }
  void write_weights(std::int64_t row, const TreeStatistics& all, float scale) {
    const float factor = all.factor();
    write(row, [&](std::int64_t, const float* x) {
      passes_.weights(x, tile_, all.maximum, scale, arguments_, weights_);
      for (std::size_t i = 0; i < tile_; ++i) weights_[i] *= factor;
    });
  }
  void store(std::int64_t row, double value) const {
    const View& to = views_.output();
    store_element(to.at(row, 0), to.storage, static_cast<float>(value));
  }

  const TreePasses& passes_ = tree_passes();
  const TreeViews& views_;
  std::size_t tile_;
  float scale_;
  alignas(64) float items_[tile_items<Half>];
  alignas(64) float arguments_[tile_items<Half>];
  alignas(64) float weights_[tile_items<Half>];
};

}  // namespace softcheck::kernels::strict
