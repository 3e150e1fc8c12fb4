#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/cpu/adaptive_beta.hpp"
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

/// The row of out as contiguous T, or nullptr where it has to be written element by element.
template <class T>
T* contiguous_row(const View& out, std::int64_t row) {
  std::byte* first = out.at(row, 0);
  const bool contiguous = out.storage == native_storage<T> && out.column_stride == sizeof(T) &&
                          reinterpret_cast<std::uintptr_t>(first) % alignof(T) == 0;
  return contiguous ? reinterpret_cast<T*>(first) : nullptr;
}

/// Second pass: the scaled weights without the maximum's; returns S - 1 and leaves them in target, where that is not
/// nullptr, and those of the last block in scratch.
template <class T>
double write_weights(const RowReader<T>& logits, const RowState<T>& state, T scale, T* target, T* scratch) {
  alignas(64) T buffer[block_size<T>];
  PairwiseSums<T> sums;
  constexpr auto block = static_cast<std::int64_t>(block_size<T>);
  for (std::int64_t index = 0; index < logits.blocks(); ++index) {
    const std::size_t count = logits.length(index);
    const std::size_t padded = logits.padded(count);
    const bool direct = target != nullptr && count == padded;
    T* weights = direct ? target + index * block : scratch;
    sums.add({block_weights(logits.read(index, buffer), padded, state.maximum, scale,
                            logits.left_out(index, state.argmax), weights),
              T(0)});
    if (target != nullptr && !direct) {
      std::memcpy(target + index * block, scratch, count * sizeof(T));
    }
  }
  return sums.total().weights * static_cast<double>(ExpConstants<T>::unscale);
}

/// Second and third pass: out = exp((x - m) scale) / S. out may be the logits.
template <class T>
void write_probabilities(const RowReader<T>& logits, const RowState<T>& state, T scale, const View& out,
                         std::int64_t row) {
  alignas(64) T scratch[block_size<T>];
  constexpr auto block = static_cast<std::int64_t>(block_size<T>);
  T* target = contiguous_row<T>(out, row);
  const double sum_minus_one = write_weights(logits, state, scale, target, scratch);
  const T factor = static_cast<T>(1 / (1 + sum_minus_one));
  for (std::int64_t index = 0; index < logits.blocks(); ++index) {
    const std::size_t count = logits.length(index);
    const std::size_t padded = logits.padded(count);
    if (target != nullptr && count == padded) {
      block_normalize(target + index * block, padded, factor, target + index * block);
      continue;
    }
    // Scratch holds the weights still of a lone block, and of the last one where the others went to the target.
    if (target == nullptr && logits.blocks() > 1) {
      alignas(64) T buffer[block_size<T>];
      block_weights(logits.read(index, buffer), padded, state.maximum, scale, none_left_out, scratch);
    }
    block_normalize(scratch, padded, factor, scratch);
    write_row(out, row, index * block, scratch, count);
  }
  // The maximum was left out: its weight is exactly 1.
  store_element(out.at(row, state.argmax), out.storage, factor);
}

template <class T>
double entropy_of(const RowState<T>& state) {
  // ln S + T / S: both terms are >= 0, nothing cancels, and a shift of the logits changes nothing.
  return std::log1p(state.sum_minus_one) + state.weighted_deviation / (1 + state.sum_minus_one);
}

template <class T>
void softmax_row(const RowReader<T>& logits, double theta, const View& out, std::int64_t row) {
  const RowState<T> state = row_maximum(logits);
  if (state.undefined || state.none_visible()) {
    return write_nan<T>(out, row);
  }
  write_probabilities(logits, state, static_cast<T>(1 / theta), out, row);
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

template <class T>
void adaptive_softmax_row(const RowReader<T>& logits, double /*theta: 1*/, const View& out, std::int64_t row) {
  RowState<T> state = row_maximum(logits);
  if (state.undefined || state.none_visible()) {
    return write_nan<T>(out, row);
  }
  row_sums(logits, T(1), state);
  const T beta = static_cast<T>(adaptive_beta(entropy_of(state)));
  write_probabilities(logits, state, beta, out, row);
}

}  // namespace softcheck::kernels
