#pragma once

#include <cstdint>
#include <limits>

#include "kernels/cpu/rows/row_access.hpp"

namespace softcheck::kernels::cpu {

/// A row without a visible item, or with NaN or +inf among the visible: all NaN (contract masked=nan).
template <class T>
void write_nan(const View& out, std::int64_t row) {
  for (std::int64_t i = 0; i < out.columns; ++i) {
    store_element(out.at(row, i), out.storage, std::numeric_limits<T>::quiet_NaN());
  }
}

/// The memory for a row's results.
struct RowTarget {
  const View& out;
  const View* entropy;  // a second output, of softmax and adaptive softmax; nullptr if it is not wanted
  std::int64_t row;

  void put_entropy(double value) const {
    if (entropy != nullptr) {
      store_element(entropy->at(row, 0), entropy->storage, value);
    }
  }
};

/// A row without a visible item, or with NaN or +inf among the visible: all NaN (contract masked=nan).
template <class T>
void put_undefined(const RowReader<T>& logits, const RowTarget& target) {
  write_nan<T>(target.out, target.row);
  target.put_entropy(logits.size() == 0 ? 0 : std::numeric_limits<double>::quiet_NaN());
}

}  // namespace softcheck::kernels::cpu
