#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/call/version_2_views.hpp"
#include "kernels/cpu/block_sum.hpp"
#include "kernels/cpu/loss_passes.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/probability_ops.hpp"
#include "kernels/cpu/row_state.hpp"

// Cross-entropy, (1 - s) (L - x_y) + s mean(L - x) + z L^2, and its gradient.
namespace softcheck::kernels::cpu {

/// One row of such a call.
template <class T>
class LossRow {
 public:
  LossRow(const LossViews& views, std::int64_t row)
      : views_(views), row_(row), label_(views.labels[row]), logits_(views.logits, nullptr, row) {}

  bool ignored() const { return label_ == views_.ignore_index; }
  /// A label that is no class makes the row NaN: nothing outside the row is read.
  bool has_class() const { return label_ >= 0 && label_ < logits_.size(); }

  double loss() const {
    if (ignored()) {
      return 0;
    }
    const RowState<T> state = row_state(logits_, T(1));
    if (state.undefined || state.none_visible() || !has_class()) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    const double s = views_.label_smoothing;
    const double log = log_sum<T>(sum_minus_one(state.sums));
    double result = log + (static_cast<double>(state.maximum) - target());
    if (s != 0) {
      result = (1 - s) * result + s * (log + mean_distance(state.maximum));
    }
    const double lse = static_cast<double>(state.maximum) + log;
    return views_.z_loss == 0 ? result : result + views_.z_loss * lse * lse;
  }

  /// upstream ((1 + 2 z L) p - (1 - s) [j = y] - s / V). The output may be the logits.
  void put_gradient() const {
    const RowTarget target_row{views_.output, nullptr, row_};
    if (ignored()) {
      return put_zeros();
    }
    if (!has_class()) {
      return write_nan<T>(views_.output, row_);
    }
    const double label_logit = target();  // read before it may be written
    const auto upstream = load_element<double>(views_.upstream->at(row_, 0), views_.upstream->storage);
    const double base = views_.label_smoothing / static_cast<double>(logits_.size());
    double alpha = 1;
    const RowState<T> state = long_probabilities(
        logits_, T(1), target_row,
        [&](const RowState<T>& known) {
          if (views_.z_loss != 0) {
            alpha += 2 * views_.z_loss * (static_cast<double>(known.maximum) + log_sum<T>(sum_minus_one(known.sums)));
          }
        },
        [&](T* values, std::size_t count) {
          block_slopes(values, count, static_cast<T>(alpha), static_cast<T>(base), static_cast<T>(upstream));
        });
    if (state.undefined || state.none_visible()) {
      return write_nan<T>(views_.output, row_);
    }
    const double p =
        static_cast<double>(block_exp(static_cast<T>(label_logit) - state.maximum)) / (1 + sum_minus_one(state.sums));
    store_element(views_.output.at(row_, label_), views_.output.storage,
                  static_cast<T>(upstream * (alpha * p - ((1 - views_.label_smoothing) + base))));
  }

 private:
  double target() const { return load_element<T>(views_.logits.at(row_, label_), views_.logits.storage); }

  double mean_distance(T maximum) const {
    alignas(64) T buffer[block_size<T>];
    const T sum = sum_of_blocks<T>(logits_.blocks(), [&](std::int64_t index) {
      return block_distance(read_filled(logits_, index, buffer, maximum), logits_.padded(logits_.length(index)),
                            maximum);
    });
    return static_cast<double>(sum) / static_cast<double>(logits_.size());
  }

  void put_zeros() const {
    alignas(64) const T zeros[block_size<T>] = {};
    for (std::int64_t index = 0; index < logits_.blocks(); ++index) {
      write_row(views_.output, row_, index * static_cast<std::int64_t>(block_size<T>), zeros, logits_.length(index));
    }
  }

  const LossViews& views_;
  std::int64_t row_;
  std::int64_t label_;
  RowReader<T> logits_;
};

/// Rows [begin, end) of a call.
template <class T>
void cross_entropy_rows(const LossViews& views, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    store_element(views.output.at(row, 0), views.output.storage, LossRow<T>(views, row).loss());
  }
}

template <class T>
void cross_entropy_backward_rows(const LossViews& views, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    LossRow<T>(views, row).put_gradient();
  }
}

}  // namespace softcheck::kernels::cpu
