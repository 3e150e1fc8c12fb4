#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/cpu/call_views.hpp"
#include "kernels/cpu/row_state.hpp"

namespace softcheck::kernels {

/// The row of out as contiguous T, or nullptr where it has to be written element by element.
template <class T>
T* contiguous_row(const View& out, std::int64_t row) {
  std::byte* first = out.at(row, 0);
  const bool contiguous = out.storage == native_storage<T> && out.column_stride == sizeof(T) &&
                          reinterpret_cast<std::uintptr_t>(first) % alignof(T) == 0;
  return contiguous ? reinterpret_cast<T*>(first) : nullptr;
}

/// Are a call's rows of one block each?
template <class T>
bool has_short_rows(const CallViews& views) {
  return views.logits.columns > 0 && views.logits.columns <= static_cast<std::int64_t>(block_size<T>);
}

/// Some such rows, where the passes over blocks want them: in place, or in memory of this.
template <class T>
class ShortBatch {
 public:
  static std::size_t most(const CallViews& views) {
    return std::min(batch_rows, elements / RowReader<T>::padded(static_cast<std::size_t>(views.logits.columns)));
  }

  /// Rows [first, first + count), count <= most. has_outputs: whether the op writes rows as long as the logits.
  ShortBatch(const CallViews& views, std::int64_t first, std::size_t count, T scale, bool has_outputs)
      : views_(views), first_(first) {
    rows.rows = count;
    rows.scale = scale;
    for (std::size_t r = 0; r < count; ++r) {
      const RowReader<T> logits(views.logits, views.mask_or_null(), row(r));
      rows.count = logits.padded(logits.length(0));
      T* direct = has_outputs ? contiguous_row<T>(views.output(), row(r)) : nullptr;
      rows.in[r] = logits.read(0, own(r));
      rows.out[r] = direct != nullptr && logits.length(0) == rows.count ? direct : own(r);
    }
  }

  std::int64_t row(std::size_t r) const { return first_ + static_cast<std::int64_t>(r); }

  /// After a pass that fills results.
  RowState<T> state(std::size_t r) const {
    const auto& [best, sums] = rows.results[r];
    if (best.has_nan) {
      return undefined_state(std::numeric_limits<T>::quiet_NaN());
    }
    const T m = best.maximum;
    return std::isfinite(m) ? RowState<T>{m, false, sums} : RowState<T>{m, m > 0, {0, 0, 0, 0}};
  }

  /// Moves a result that could not be written in place.
  void write(std::size_t r) {
    if (rows.out[r] == own(r)) {
      write_row(views_.output(), row(r), 0, rows.out[r], static_cast<std::size_t>(views_.logits.columns));
    }
  }

  ShortRows<T> rows;

 private:
  static constexpr std::size_t elements = 2 * block_size<T>;

  T* own(std::size_t r) { return scratch_ + r * rows.count; }

  const CallViews& views_;
  std::int64_t first_;
  alignas(64) T scratch_[elements];
};

/// Calls work(ShortBatch) for the rows [begin, end) of a call, batch by batch.
template <class T, class Work>
void each_batch(const CallViews& views, std::int64_t begin, std::int64_t end, T scale, bool has_outputs, Work work) {
  const std::size_t most = ShortBatch<T>::most(views);
  for (std::int64_t row = begin; row < end; row += static_cast<std::int64_t>(most)) {
    ShortBatch<T> batch(views, row, std::min(most, static_cast<std::size_t>(end - row)), scale, has_outputs);
    work(batch);
  }
}

}  // namespace softcheck::kernels
