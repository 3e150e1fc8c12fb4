#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/call/version_2_views.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/block_sum.hpp"
#include "kernels/cpu/rows/loss_passes.hpp"
#include "kernels/cpu/rows/row_access.hpp"
#include "kernels/cpu/rows/short_rows.hpp"

// The gradients of softmax, y (g - sum y g), and of log-softmax, g - exp(y) sum g, from the forward pass's output y.
namespace softcheck::kernels::cpu {

/// One row of such a call. The output may be either input.
template <class T>
class SavedRow {
 public:
  SavedRow(const SavedViews& views, std::int64_t row)
      : out_(views.output), row_(row), saved_(views.saved, nullptr, row), gradient_(views.gradient, nullptr, row) {}

  void put_softmax_gradient() const {
    const T mean = sum([](const T* y, const T* g, std::size_t count) { return block_product(y, g, count); });
    put([mean](const T* y, const T* g, std::size_t count, T* to) { block_softmax_gradient(y, g, count, mean, to); });
  }

  void put_log_gradient() const {
    const T total = sum([](const T*, const T* g, std::size_t count) { return block_total(g, count); });
    put([total](const T* y, const T* g, std::size_t count, T* to) {
      if (block_maximum(y, count) <= largest_logarithm<T>) {
        return block_log_gradient(y, g, count, total, to);
      }
      for (std::size_t i = 0; i < count; ++i) {  // no logarithms of coefficients
        to[i] = g[i] - std::exp(y[i]) * total;
      }
    });
  }

 private:
  template <class Of>
  T sum(Of of) const {
    return sum_of_blocks<T>(saved_.blocks(), [&](std::int64_t index) {
      alignas(64) T y[block_size<T>];
      alignas(64) T g[block_size<T>];
      return of(read_filled(saved_, index, y, T(0)), read_filled(gradient_, index, g, T(0)),
                saved_.padded(saved_.length(index)));
    });
  }

  template <class Put>
  void put(Put put_block) const {
    alignas(64) T y[block_size<T>];
    alignas(64) T g[block_size<T>];
    T* direct = contiguous_row<T>(out_, row_);
    for (std::int64_t index = 0; index < saved_.blocks(); ++index) {
      const std::int64_t first = index * static_cast<std::int64_t>(block_size<T>);
      const std::size_t count = saved_.length(index), padded = saved_.padded(count);
      const bool whole = direct != nullptr && count == padded;
      put_block(read_filled(saved_, index, y, T(0)), read_filled(gradient_, index, g, T(0)), padded,
                whole ? direct + first : y);
      if (!whole) {
        write_row(out_, row_, first, y, count);
      }
    }
  }

  const View& out_;
  std::int64_t row_;
  RowReader<T> saved_;
  RowReader<T> gradient_;
};

/// Rows [begin, end) of a call.
template <class T, void (SavedRow<T>::*put)() const>
void saved_rows(const SavedViews& views, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) {
    (SavedRow<T>(views, row).*put)();
  }
}

}  // namespace softcheck::kernels::cpu
