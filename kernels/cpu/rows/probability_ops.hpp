#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/arithmetic/adaptive_beta.hpp"
#include "kernels/call/call_views.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/row_state.hpp"
#include "kernels/cpu/rows/row_target.hpp"
#include "kernels/cpu/rows/short_rows.hpp"

// softmax and adaptive softmax.
namespace softcheck::kernels::cpu {

/// Fills a row of out block by block: fill(values, count, to) writes count values to `to`, which may be values. If they
/// cannot be written in place, they go through scratch, which holds those of the last block at the end.
template <class T, class Fill>
void fill_row(const RowReader<T>& logits, const RowTarget& target, Fill fill) {
  constexpr auto block = static_cast<std::int64_t>(block_size<T>);
  alignas(64) T scratch[block_size<T>];
  T* direct = contiguous_row<T>(target.out, target.row);
  for (std::int64_t index = 0; index < logits.blocks(); ++index) {
    const std::size_t count = logits.length(index);
    const bool in_place = direct != nullptr && count == logits.padded(count);
    T* to = in_place ? direct + index * block : scratch;
    fill(logits.read(index, scratch), logits.padded(count), to);
    if (!in_place) {
      write_row(target.out, target.row, index * block, scratch, count);
    }
  }
}

/// Weights and their normalisation, for a row whose maximum is known. add_weights(index, values, count, to) writes a
/// block's weights and adds them to a sum S, factor_of() returns 1 / S, and finish(values, count) changes a block of
/// probabilities before it is written. Weights are stored in the output if they can be written there unconverted; else
/// in memory that fits into the second-level cache, and the weights of later blocks are computed again.
template <class T, class AddWeights, class FactorOf, class Finish>
void put_normalized(const RowReader<T>& logits, T maximum, T scale, const RowTarget& target, AddWeights add_weights,
                    FactorOf factor_of, Finish finish) {
  constexpr auto block = static_cast<std::int64_t>(block_size<T>);
  constexpr std::int64_t kept_blocks = 16;
  alignas(64) T scratch[block_size<T>];
  alignas(64) T kept[kept_blocks * block_size<T>];
  T* direct = contiguous_row<T>(target.out, target.row);
  const auto in_place = [&](std::int64_t index) {
    return direct != nullptr && logits.length(index) == logits.padded(logits.length(index));
  };
  const auto place_of = [&](std::int64_t index) {
    return in_place(index) ? direct + index * block : index < kept_blocks ? kept + index * block : nullptr;
  };
  for (std::int64_t index = 0; index < logits.blocks(); ++index) {
    T* place = place_of(index);
    add_weights(index, logits.read(index, scratch), logits.padded(logits.length(index)),
                place != nullptr ? place : scratch);
  }
  const T factor = factor_of();
  for (std::int64_t index = 0; index < logits.blocks(); ++index) {
    const std::size_t count = logits.length(index);
    T* place = place_of(index);
    if (in_place(index)) {
      block_normalize(place, count, factor, place);
      finish(place, count);
      continue;
    }
    if (place != nullptr) {
      block_normalize(place, logits.padded(count), factor, scratch);
    } else {
      block_probabilities(logits.read(index, scratch), logits.padded(count), maximum, scale, factor, scratch);
    }
    finish(scratch, logits.padded(count));
    write_row(target.out, target.row, index * block, scratch, count);
  }
}

/// A function that leaves probabilities unchanged.
inline constexpr auto as_they_are = [](auto&&...) {};

/// softmax of a row, block by block. If the row has a softmax, calls know(state) before the first
/// finish(probabilities, count).
template <class T, class Know, class Finish>
RowState<T> long_probabilities(const RowReader<T>& logits, T scale, const RowTarget& target, Know know, Finish finish) {
  const RowMaximum<T> best = row_maximum(logits);
  const T m = best.maximum;
  if (best.undefined() || best.none_visible()) {
    return {m, best.undefined(), {0, 0, 0, 0}};
  }
  RowState<T> state;
  PairwiseStates<T> states(scale);
  const auto add_weights = [&](std::int64_t index, const T* values, std::size_t count, T* to) {
    // With a small scale, a nonzero difference times the scale may be 0.
    const bool has_ones = scale < 1 || (index >= best.first && index <= best.last);
    states.add({m, block_weights(values, count, m, scale, has_ones, to)});
  };
  const auto factor_of = [&] {
    state = states.total();
    know(state);
    return normalizer(state.sums);
  };
  put_normalized(logits, m, scale, target, add_weights, factor_of, finish);
  return std::isnan(state.sums.deviations) ? undefined_state(std::numeric_limits<T>::quiet_NaN()) : state;
}

template <class T>
void finish_softmax(const RowReader<T>& logits, const RowState<T>& state, const RowTarget& target) {
  if (state.undefined || state.none_visible()) {
    put_undefined(logits, target);
  } else if (target.entropy != nullptr) {
    target.put_entropy(entropy_of(state.sums));
  }
}

/// Writes the probabilities and entropies of short rows to the outputs.
template <class T>
void finish_short(const CallViews& views, ShortBatch<T>& batch) {
  batch.write();
  for (std::size_t r = 0; r < batch.rows.rows; ++r) {
    const RowTarget target{views.output(), views.entropy_or_null(), batch.row(r)};
    if (batch.defined(r)) {
      target.put_entropy(batch.rows.entropies[r]);
    } else {
      put_undefined(RowReader<T>(views.logits, views.mask_or_null(), batch.row(r)), target);
    }
  }
}

/// Rows [begin, end) of a call.
template <class T>
void softmax_rows(const CallViews& views, std::int64_t begin, std::int64_t end) {
  const T scale = static_cast<T>(1 / views.theta);
  const auto reader = [&](std::int64_t row) { return RowReader<T>(views.logits, views.mask_or_null(), row); };
  const auto target = [&](std::int64_t row) { return RowTarget{views.output(), views.entropy_or_null(), row}; };
  if (!has_short_rows<T>(views)) {
    for (std::int64_t row = begin; row < end; ++row) {
      finish_softmax(reader(row), long_probabilities(reader(row), scale, target(row), as_they_are, as_they_are),
                     target(row));
    }
    return;
  }
  each_batch<T>(views, begin, end, scale, true, [&](ShortBatch<T>& batch) {
    short_softmax(batch.rows);
    if (views.entropy_or_null() != nullptr) {
      short_entropies(batch.rows);
    }
    finish_short(views, batch);
  });
}

/// softmax(beta x): beta from the entropy at theta = 1. The bits of softmax where beta is 1.
template <class T>
void adaptive_softmax_row(const RowReader<T>& logits, const RowTarget& target) {
  const RowMaximum<T> best = row_maximum(logits);
  if (best.undefined() || best.none_visible()) {
    return put_undefined(logits, target);
  }
  const T m = best.maximum;
  const RowState<T> state{m, false, row_sums(logits, m, T(1))};
  if (std::isnan(state.sums.deviations)) {
    return put_undefined(logits, target);
  }
  const T beta = static_cast<T>(adaptive_beta(entropy_of(state.sums)));
  if (beta == 1) {
    const T factor = normalizer(state.sums);
    fill_row(logits, target, [&](const T* values, std::size_t count, T* to) {
      block_probabilities(values, count, m, T(1), factor, to);
    });
    return finish_softmax(logits, state, target);
  }
  if (target.entropy != nullptr) {
    target.put_entropy(entropy_of(row_sums(logits, m, beta)));
  }
  PairwiseStates<T> states(beta);
  const auto add_weights = [&](std::int64_t, const T* values, std::size_t count, T* to) {
    states.add({m, {T(0), block_totals(values, count, m, beta, to), T(0), T(0)}});
  };
  put_normalized(
      logits, m, beta, target, add_weights, [&] { return normalizer(states.total().sums); }, as_they_are);
}

template <class T>
void adaptive_softmax_rows(const CallViews& views, std::int64_t begin, std::int64_t end) {
  const auto reader = [&](std::int64_t row) { return RowReader<T>(views.logits, views.mask_or_null(), row); };
  const auto target = [&](std::int64_t row) { return RowTarget{views.output(), views.entropy_or_null(), row}; };
  if (!has_short_rows<T>(views)) {
    for (std::int64_t row = begin; row < end; ++row) {
      adaptive_softmax_row(reader(row), target(row));
    }
    return;
  }
  each_batch<T>(views, begin, end, T(1), true, [&](ShortBatch<T>& batch) {
    short_adaptive(batch.rows, views.entropy_or_null() != nullptr);
    finish_short(views, batch);
  });
}

}  // namespace softcheck::kernels::cpu
