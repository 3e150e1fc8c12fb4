#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/call/version_2_views.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/block_sum.hpp"
#include "kernels/cpu/rows/loss_passes.hpp"
#include "kernels/cpu/rows/probability_ops.hpp"
#include "kernels/cpu/rows/row_state.hpp"

// Cross-entropy, (1 - s) w_y (L - x_y) + s mean(w (L - x)) + z L^2, and its gradient; w are class weights, 1 without
// them, and x the logits, or softcap tanh(logits / softcap).
// The mean, or the sum, of the losses of a call's rows. Any thread may compute a row; the losses are stored as doubles,
// and added from the first row on.
namespace softcheck::kernels::cpu {

/// The sum of value(j), j < count, within two roundings of a double: Neumaier's. Infinite if a term or the sum is.
template <class Value>
double compensated_sum(std::int64_t count, Value value) {
  double sum = 0;
  double lost = 0;
  for (std::int64_t j = 0; j < count; ++j) {
    const double term = value(j);
    const double next = sum + term;
    lost += std::abs(sum) >= std::abs(term) ? (sum - next) + term : (term - next) + sum;
    sum = next;
  }
  return std::isfinite(sum) ? sum + lost : sum;
}

/// One row of such a call.
template <class T>
class LossRow {
 public:
  /// place   its row at has the x of the call's row
  LossRow(const LossViews& views, std::int64_t row, const View& place, std::int64_t at)
      : views_(views), row_(row), label_(views.labels[row]), place_(place), at_(at), logits_(place, nullptr, at) {}

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
    double result = weight(label_) * (log + (static_cast<double>(state.maximum) - target()));
    if (s != 0) {
      result = (1 - s) * result + s * (views_.weights ? weighted_mean(static_cast<double>(state.maximum), log)
                                                      : log + mean_distance(state.maximum));
    }
    const double lse = static_cast<double>(state.maximum) + log;
    return views_.z_loss == 0 ? result : result + views_.z_loss * lse * lse;
  }

  /// upstream (alpha p - (1 - s) w_y [j = y] - s w_j / V), alpha = (1 - s) w_y + s mean(w) + 2 z L, times the softcap's
  /// slope. The output may be the logits.
  void put_gradient() const {
    const RowTarget target_row{views_.output, nullptr, row_};
    if (ignored()) {
      return put_zeros();
    }
    if (!has_class()) {
      return write_nan<T>(views_.output, row_);
    }
    const double label_logit = target();  // read before it may be written
    const double upstream =
        load_element<double>(views_.upstream->at(row_, 0), views_.upstream->storage) / views_.divisor;
    const double base = views_.label_smoothing / static_cast<double>(logits_.size());
    const double rest = (1 - views_.label_smoothing) * weight(label_);
    double alpha = views_.weights ? rest + views_.label_smoothing * mean_weight() : 1;
    std::int64_t begin = 0;  // of the next block
    const RowState<T> state = long_probabilities(
        logits_, T(1), target_row,
        [&](const RowState<T>& known) {
          if (views_.z_loss != 0) {
            alpha += 2 * views_.z_loss * (static_cast<double>(known.maximum) + log_sum<T>(sum_minus_one(known.sums)));
          }
        },
        [&](T* values, std::size_t count) {
          if (has_equal_classes()) {
            const T share = views_.weights ? T(0) : static_cast<T>(base);
            block_slopes(values, count, static_cast<T>(alpha), share, static_cast<T>(upstream));
          } else {
            put_slopes(values, begin, alpha, base, upstream);
          }
          begin += static_cast<std::int64_t>(block_size<T>);
        });
    if (state.undefined || state.none_visible()) {
      return write_nan<T>(views_.output, row_);
    }
    const double p =
        static_cast<double>(block_exp(static_cast<T>(label_logit) - state.maximum)) / (1 + sum_minus_one(state.sums));
    store_element(views_.output.at(row_, label_), views_.output.storage,
                  static_cast<T>(upstream * (alpha * p - (rest + base * weight(label_))) * slope(label_logit)));
  }

 private:
  double logit(std::int64_t j) const { return load_element<T>(place_.at(at_, j), place_.storage); }
  double target() const { return logit(label_); }
  double weight(std::int64_t j) const {
    return views_.weights ? load_element<double>(views_.weights->at(j, 0), views_.weights->storage) : 1;
  }
  double mean_weight() const {
    const std::int64_t n = logits_.size();
    return compensated_sum(n, [&](std::int64_t j) { return weight(j); }) / static_cast<double>(n);
  }
  /// mean(w (L - x)); a masked class of weight 0 counts nothing.
  double weighted_mean(double maximum, double log) const {
    const std::int64_t n = logits_.size();
    const auto term = [&](std::int64_t j) {
      const double w = weight(j);
      return w == 0 ? 0 : w * (log + (maximum - logit(j)));
    };
    return compensated_sum(n, term) / static_cast<double>(n);
  }

  /// Has every class but the label's the same subtrahend and the same slope?
  bool has_equal_classes() const { return views_.softcap == 0 && (!views_.weights || views_.label_smoothing == 0); }
  /// 1 - tanh^2, from a logit after the softcap.
  double slope(double capped) const {
    if (views_.softcap == 0 || std::isinf(capped)) {
      return 1;
    }
    const double t = capped / views_.softcap;
    return 1 - t * t;
  }
  /// A block of probabilities, of the classes from begin on, becomes their gradient.
  void put_slopes(T* values, std::int64_t begin, double alpha, double base, double upstream) const {
    const std::size_t count = logits_.length(begin / static_cast<std::int64_t>(block_size<T>));
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t j = begin + static_cast<std::int64_t>(i);
      const double capped = views_.softcap == 0 ? 0 : logit(j);
      values[i] =
          static_cast<T>(upstream * (alpha * static_cast<double>(values[i]) - base * weight(j)) * slope(capped));
    }
  }

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
  const View& place_;
  std::int64_t at_;
  RowReader<T> logits_;
};

/// softcap tanh(x / softcap) of a row's logits, in double, rounded once; -inf, a masked class, stays.
template <class T>
void put_capped(const LossViews& views, std::int64_t row, T* capped) {
  for (std::int64_t j = 0; j < views.logits.columns; ++j) {
    const auto x = load_element<double>(views.logits.at(row, j), views.logits.storage);
    const bool masked = x == -std::numeric_limits<double>::infinity();
    capped[j] = static_cast<T>(masked ? x : views.softcap * std::tanh(x / views.softcap));
  }
}

/// Calls take(LossRow<T>) for the rows [begin, end) of a call. With a softcap, a buffer holds the capped row.
template <class T, class Take>
void each_loss_row(const LossViews& views, std::int64_t begin, std::int64_t end, Take take) {
  if (views.softcap == 0) {
    for (std::int64_t row = begin; row < end; ++row) {
      take(row, LossRow<T>(views, row, views.logits, row));
    }
    return;
  }
  std::vector<T> capped(static_cast<std::size_t>(views.logits.columns));
  const View place{
      reinterpret_cast<std::byte*>(capped.data()), native_storage<T>, 1, views.logits.columns, 0, sizeof(T)};
  for (std::int64_t row = begin; row < end; ++row) {
    if (views.labels[row] != views.ignore_index) {
      put_capped(views, row, capped.data());
    }
    take(row, LossRow<T>(views, row, place, 0));
  }
}

/// Rows [begin, end) of a call.
template <class T>
void cross_entropy_rows(const LossViews& views, std::int64_t begin, std::int64_t end) {
  each_loss_row<T>(views, begin, end, [&](std::int64_t row, const LossRow<T>& loss) {
    store_element(views.output.at(row, 0), views.output.storage, loss.loss());
  });
}

template <class T>
void cross_entropy_backward_rows(const LossViews& views, std::int64_t begin, std::int64_t end) {
  each_loss_row<T>(views, begin, end, [](std::int64_t, const LossRow<T>& loss) { loss.put_gradient(); });
}

/// (rows) a loss for each row.
inline View view_of_losses(std::vector<double>& losses) {
  const auto rows = static_cast<std::int64_t>(losses.size());
  return {reinterpret_cast<std::byte*>(losses.data()), Storage::f64, rows, 1, sizeof(double), 0};
}

inline std::int64_t counted_rows(const LossViews& views) {
  std::int64_t counted = 0;
  for (std::int64_t row = 0; row < views.logits.rows; ++row) {
    counted += views.labels[row] == views.ignore_index ? 0 : 1;
  }
  return counted;
}

/// The number of rows that are not ignored, or the sum of their labels' weights, within two roundings; 1 for a sum. NaN
/// if a label with class weights is outside the classes.
inline double loss_divisor(const LossViews& views) {
  if (!views.mean) {
    return 1;
  }
  if (!views.weights) {
    return static_cast<double>(counted_rows(views));
  }
  return compensated_sum(views.logits.rows, [&](std::int64_t row) {
    const std::int64_t label = views.labels[row];
    if (label == views.ignore_index) {
      return 0.0;
    }
    return label >= 0 && label < views.logits.columns
               ? load_element<double>(views.weights->at(label, 0), views.weights->storage)
               : std::numeric_limits<double>::quiet_NaN();
  });
}

/// NaN, 0 / 0, of a mean over no rows.
///
/// losses   (rows), 0 if a row is ignored
inline double reduced_loss(const LossViews& views, const std::vector<double>& losses) {
  const auto loss = [&](std::int64_t row) { return losses[static_cast<std::size_t>(row)]; };
  return compensated_sum(views.logits.rows, loss) / loss_divisor(views);
}

}  // namespace softcheck::kernels::cpu
