#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/cpu/row_access.hpp"
#include "kernels/cpu/row_state.hpp"

namespace softcheck::kernels {

/// A row without a visible item, or with NaN or +inf among the visible: all NaN (contract masked=nan).
template <class T>
void write_nan(const View& out, std::int64_t row) {
  for (std::int64_t i = 0; i < out.columns; ++i) {
    store_element(out.at(row, i), out.storage, std::numeric_limits<T>::quiet_NaN());
  }
}

/// Third pass: out = exp((x - m) scale) / S.
template <class T>
void write_probabilities(const RowReader<T>& logits, const RowState<T>& state, T scale, const View& out,
                         std::int64_t row) {
  alignas(64) T buffer[block_size<T>];
  alignas(64) T results[block_size<T>];
  const T factor = static_cast<T>(1 / (1 + state.sum_minus_one));
  const bool in_place = out.storage == native_storage<T> && out.column_stride == sizeof(T) &&
                        reinterpret_cast<std::uintptr_t>(out.data) % alignof(T) == 0 &&
                        out.row_stride % static_cast<std::int64_t>(alignof(T)) == 0;
  for (std::int64_t index = 0; index < logits.blocks(); ++index) {
    const std::size_t count = logits.length(index);
    const std::size_t padded = logits.padded(count);
    const std::int64_t begin = index * static_cast<std::int64_t>(block_size<T>);
    const T* values = logits.read(index, buffer);
    if (in_place && count == padded) {
      block_exp(values, count, state.maximum, scale, factor, reinterpret_cast<T*>(out.at(row, begin)));
      continue;
    }
    block_exp(values, padded, state.maximum, scale, factor, results);
    write_row(out, row, begin, results, count);
  }
}

template <class T>
double entropy_of(const RowState<T>& state) {
  // ln S + T / S: both terms are >= 0, nothing cancels, and a shift of the logits changes nothing.
  return std::log1p(state.sum_minus_one) + state.weighted_deviation / (1 + state.sum_minus_one);
}

template <class T>
void softmax_row(const RowReader<T>& logits, double theta, const View& out, std::int64_t row) {
  RowState<T> state = row_maximum(logits);
  if (state.undefined || state.none_visible()) {
    return write_nan<T>(out, row);
  }
  const T scale = static_cast<T>(1 / theta);
  row_sums(logits, scale, state);
  write_probabilities(logits, state, scale, out, row);
}

template <class T>
void log_softmax_row(const RowReader<T>& logits, double theta, const View& out, std::int64_t row) {
  RowState<T> state = row_maximum(logits);
  if (state.undefined || state.none_visible()) {
    return write_nan<T>(out, row);
  }
  const T scale = static_cast<T>(1 / theta);
  row_sums(logits, scale, state);
  alignas(64) T buffer[block_size<T>];
  const T log_sum = static_cast<T>(std::log1p(state.sum_minus_one));
  for (std::int64_t index = 0; index < logits.blocks(); ++index) {
    const std::size_t count = logits.length(index);
    block_shift(logits.read(index, buffer), logits.padded(count), state.maximum, scale, log_sum, buffer);
    write_row(out, row, index * static_cast<std::int64_t>(block_size<T>), buffer, count);
  }
}

template <class T>
void logsumexp_row(const RowReader<T>& logits, double theta, const View& out, std::int64_t row) {
  RowState<T> state = row_maximum(logits);
  if (state.undefined || state.none_visible()) {
    // NaN, the limit +inf, or the empty sum's -inf: the maximum is each of them.
    return store_element(out.at(row, 0), out.storage, static_cast<double>(state.maximum));
  }
  row_sums(logits, static_cast<T>(1 / theta), state);
  // m / theta to twice the precision: where ln S cancels it, its own rounding would be all that is left.
  const double m = state.maximum;
  const double quotient = m / theta;
  double result = quotient;
  if (std::isfinite(quotient)) {
    const double rest = std::fma(-quotient, theta, m) / theta;
    result = quotient + (std::log1p(state.sum_minus_one) + rest);
  }
  store_element(out.at(row, 0), out.storage, result);
}

template <class T>
void entropy_row(const RowReader<T>& logits, double theta, const View& out, std::int64_t row) {
  RowState<T> state = row_maximum(logits);
  double result = std::numeric_limits<double>::quiet_NaN();
  if (logits.size() == 0) {
    result = 0;
  } else if (!state.undefined && !state.none_visible()) {
    row_sums(logits, static_cast<T>(1 / theta), state);
    result = entropy_of(state);
  }
  store_element(out.at(row, 0), out.storage, result);
}

/// beta of Fig. 4 (eqs. 15-18): max(P(H), 1) above 0.5 nats, from the exact entropy (without the paper's 1e-9).
inline double adaptive_beta(double entropy) {
  if (!(entropy > 0.5)) {
    return 1;
  }
  const double polynomial = (((-0.037 * entropy + 0.481) * entropy - 2.3) * entropy + 4.917) * entropy - 1.791;
  return polynomial > 1 ? polynomial : 1;
}

template <class T>
void adaptive_softmax_row(const RowReader<T>& logits, double /*theta: 1*/, const View& out, std::int64_t row) {
  RowState<T> state = row_maximum(logits);
  if (state.undefined || state.none_visible()) {
    return write_nan<T>(out, row);
  }
  row_sums(logits, T(1), state);
  const T beta = static_cast<T>(adaptive_beta(entropy_of(state)));
  if (beta != T(1)) {
    row_sums(logits, beta, state);
  }
  write_probabilities(logits, state, beta, out, row);
}

}  // namespace softcheck::kernels
