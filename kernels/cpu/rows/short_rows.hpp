#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/call/call_views.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/row_state.hpp"
#include "kernels/cpu/rows/short_passes.hpp"

namespace softcheck::kernels::cpu {

/// The row of out as contiguous T, or nullptr if it has to be written element by element.
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

/// Some short rows at a time, as contiguous numbers for the passes over blocks: in place, or in this object's memory.
template <class T>
class ShortBatch {
 public:
  /// has_outputs: whether the op writes rows as long as the logits.
  ShortBatch(const CallViews& views, T scale, bool has_outputs)
      : views_(views), filled_(RowReader<T>::padded(columns()) == columns()) {
    rows.count = RowReader<T>::padded(columns());
    rows.scale = scale;
    reads_in_place_ = filled_ && views.mask_or_null() == nullptr && all_contiguous(views.logits);
    writes_in_place_ = has_outputs && filled_ && all_contiguous(views.output());
  }

  std::size_t most() const { return std::min(batch_rows, elements / rows.count); }

  /// Rows [first, first + count), count <= most().
  void load(std::int64_t first, std::size_t count) {
    first_ = first;
    rows.rows = count;
    for (std::size_t r = 0; r < count; ++r) {
      rows.in[r] = reads_in_place_ ? reinterpret_cast<const T*>(views_.logits.at(row(r), 0))
                                   : RowReader<T>(views_.logits, views_.mask_or_null(), row(r)).read(0, own(r));
      rows.out[r] = writes_in_place_ ? reinterpret_cast<T*>(views_.output().at(row(r), 0)) : own(r);
    }
  }

  std::int64_t row(std::size_t r) const { return first_ + static_cast<std::int64_t>(r); }

  /// After a pass that fills the sums: has row r a finite maximum and no NaN?
  bool defined(std::size_t r) const { return !std::isnan(rows.deviations[r]); }

  /// After short_states, the rows as they were read.
  RowState<T> state(std::size_t r) const {
    if (defined(r)) {
      return {rows.maxima[r], false, {rows.ones[r], rows.weights[r], rows.deviations[r], 0}};
    }
    if (block_has_nan(rows.in[r], rows.count)) {
      return undefined_state(std::numeric_limits<T>::quiet_NaN());
    }
    return {rows.maxima[r], rows.maxima[r] > 0, {0, 0, 0, 0}};
  }

  /// Moves results that could not be written in place.
  void write() {
    for (std::size_t r = 0; r < rows.rows && !writes_in_place_; ++r) {
      write_row(views_.output(), row(r), 0, rows.out[r], columns());
    }
  }

  ShortRows<T> rows;

 private:
  static constexpr std::size_t elements = 64 * block_lanes<T>;

  std::size_t columns() const { return static_cast<std::size_t>(views_.logits.columns); }
  T* own(std::size_t r) { return scratch_ + r * rows.count; }

  static bool all_contiguous(const View& view) {
    return contiguous_row<T>(view, 0) != nullptr && view.row_stride % static_cast<std::int64_t>(alignof(T)) == 0;
  }

  const CallViews& views_;
  bool filled_;
  bool reads_in_place_;
  bool writes_in_place_;
  std::int64_t first_ = 0;
  alignas(64) T scratch_[elements];
};

/// Calls work(ShortBatch) for the rows [begin, end) of a call, batch by batch.
template <class T, class Work>
void each_batch(const CallViews& views, std::int64_t begin, std::int64_t end, T scale, bool has_outputs, Work work) {
  ShortBatch<T> batch(views, scale, has_outputs);
  const auto most = static_cast<std::int64_t>(batch.most());
  for (std::int64_t row = begin; row < end; row += most) {
    batch.load(row, static_cast<std::size_t>(std::min(most, end - row)));
    work(batch);
  }
}

}  // namespace softcheck::kernels::cpu
