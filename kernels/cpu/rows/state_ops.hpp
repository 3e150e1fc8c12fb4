#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/call/call_views.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/row_state.hpp"
#include "kernels/cpu/rows/row_target.hpp"
#include "kernels/cpu/rows/short_rows.hpp"

// What follows from a row's state: log_softmax, logsumexp, entropy, varentropy and the state itself.
namespace softcheck::kernels::cpu {

template <class T>
void log_softmax_row(const RowReader<T>& logits, const RowState<T>& state, double theta, const RowTarget& target) {
  const T scale = static_cast<T>(1 / theta);
  if (state.undefined || state.none_visible()) {
    return put_undefined(logits, target);
  }
  alignas(64) T buffer[block_size<T>];
  const T shift = static_cast<T>(log_sum<T>(sum_minus_one(state.sums)));
  for (std::int64_t index = 0; index < logits.blocks(); ++index) {
    const std::size_t count = logits.length(index);
    block_shift(logits.read(index, buffer), logits.padded(count), state.maximum, scale, shift, buffer);
    write_row(target.out, target.row, index * static_cast<std::int64_t>(block_size<T>), buffer, count);
  }
}

template <class T>
void logsumexp_row(const RowReader<T>& /*logits*/, const RowState<T>& state, double theta, const RowTarget& target) {
  double result = state.maximum;  // NaN, the limit +inf, or the empty sum's -inf
  if (!state.undefined && !state.none_visible()) {
    // m / theta to twice the precision: where ln S cancels it, only its rounding error would be left.
    const double quotient = result / theta;
    if (std::isfinite(quotient)) {
      const double rest = std::fma(-quotient, theta, result) / theta;
      result = quotient + (log_sum<T>(sum_minus_one(state.sums)) + rest);
    } else {
      result = quotient;
    }
  }
  store_element(target.out.at(target.row, 0), target.out.storage, result);
}

/// Rows [begin, end) of a call.
template <class T>
void entropy_rows(const CallViews& views, std::int64_t begin, std::int64_t end) {
  const T scale = static_cast<T>(1 / views.theta);
  const View& out = views.output();
  if (!has_short_rows<T>(views)) {
    for (std::int64_t row = begin; row < end; ++row) {
      const RowReader<T> logits(views.logits, views.mask_or_null(), row);
      const RowState<T> state = row_state(logits, scale);
      const bool defined = !state.undefined && !state.none_visible();
      const double result = defined ? entropy_of(state.sums) : std::numeric_limits<double>::quiet_NaN();
      store_element(out.at(row, 0), out.storage, result);
    }
    return;
  }
  each_batch<T>(views, begin, end, scale, false, [&](ShortBatch<T>& batch) {
    short_states(batch.rows);
    short_entropies(batch.rows);
    for (std::size_t r = 0; r < batch.rows.rows; ++r) {
      const double result = batch.defined(r) ? batch.rows.entropies[r] : std::numeric_limits<double>::quiet_NaN();
      store_element(out.at(batch.row(r), 0), out.storage, result);
    }
  });
}

/// m, S - 1, T and U = sum w D^2 of each row, those that the call has. NaN if the row holds NaN or +inf; -inf, -1, 0
/// and 0 for a row without a visible item.
template <class T>
void statistics_rows(const CallViews& views, std::int64_t begin, std::int64_t end) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double unscale = ExpConstants<T>::unscale;
  for (std::int64_t row = begin; row < end; ++row) {
    const RowReader<T> logits(views.logits, views.mask_or_null(), row);
    const RowState<T> state = row_state(logits, static_cast<T>(1 / views.theta), true);
    std::array<double, 4> values{nan, nan, nan, nan};
    if (!state.undefined) {
      // Which of two zeros is the larger one depends on the instruction set: an m of 0 has no sign.
      values = {static_cast<double>(state.maximum) + 0.0, state.none_visible() ? -1 : sum_minus_one(state.sums),
                static_cast<double>(state.sums.deviations) * unscale,
                static_cast<double>(state.sums.squares) * unscale};
    }
    for (std::uint32_t i = 0; i < views.n_outputs; ++i) {
      store_element(views.outputs[i].at(row, 0), views.outputs[i].storage, values[i]);
    }
  }
}

/// The variance of -ln p under p, U/S - (T/S)^2: accurate relative to U/S.
template <class T>
void varentropy_row(const RowReader<T>& logits, double theta, const RowTarget& target) {
  const RowState<T> state = row_state(logits, static_cast<T>(1 / theta), true);
  double result = std::numeric_limits<double>::quiet_NaN();
  if (!state.undefined && !state.none_visible()) {
    const double mean = mean_deviation(state.sums);
    result = std::max(mean_square(state.sums) - mean * mean, 0.0);
  }
  store_element(target.out.at(target.row, 0), target.out.storage, result);
}

/// Rows [begin, end) of an op that needs a row's state.
template <class T, void (*op)(const RowReader<T>&, const RowState<T>&, double, const RowTarget&)>
void each_state(const CallViews& views, std::int64_t begin, std::int64_t end) {
  const T scale = static_cast<T>(1 / views.theta);
  const auto finish = [&](std::int64_t row, const RowState<T>& state) {
    op(RowReader<T>(views.logits, views.mask_or_null(), row), state, views.theta, {views.output(), nullptr, row});
  };
  if (!has_short_rows<T>(views)) {
    for (std::int64_t row = begin; row < end; ++row) {
      finish(row, row_state(RowReader<T>(views.logits, views.mask_or_null(), row), scale));
    }
    return;
  }
  each_batch<T>(views, begin, end, scale, false, [&](ShortBatch<T>& batch) {
    short_states(batch.rows);
    for (std::size_t r = 0; r < batch.rows.rows; ++r) {
      finish(batch.row(r), batch.state(r));
    }
  });
}

/// Rows [begin, end) one by one.
template <class T, void (*op)(const RowReader<T>&, double, const RowTarget&)>
void each_row(const CallViews& views, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    op(RowReader<T>(views.logits, views.mask_or_null(), row), views.theta,
       {views.output(), views.entropy_or_null(), row});
  }
}

}  // namespace softcheck::kernels::cpu
