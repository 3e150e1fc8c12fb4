#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {

/// The parameters of a call that its matrix does not hold.
struct CallForm {
  std::optional<std::size_t> in_place_of = {};  // the output shares this input's memory, and matrix.out is unused
  std::size_t alignment = 1;                    // of every tensor's first element, in bytes
  bool finite = false;                          // masked items hold the largest finite numbers only
};

/// How a call hides its items of -inf. The items are counted row by row. The mask hides all of them, or every second
/// one; behind the mask the call holds a NaN, an infinity or a largest number.
class Hiding {
 public:
  Hiding(const RowMatrixCase& matrix, const CallForm& form);

  /// hidden   number of the hidden item, counted from 1
  bool by_mask(std::size_t hidden) const {
    return mask_ == MaskUse::tensor || (mask_ == MaskUse::mixed && hidden % 2 == 1);
  }
  double number(std::size_t hidden) const { return numbers_[hidden % numbers_.size()]; }

 private:
  MaskUse mask_;
  std::array<double, 4> numbers_{};
};

/// A number behind the call's mask.
struct HiddenNumber {
  std::size_t item;
  double value;
};
/// The hidden numbers of one row, in the order of its items, as call_of writes them.
std::vector<HiddenNumber> hidden_numbers(const RowMatrixCase& matrix, std::size_t row, const CallForm& form);

}  // namespace softcheck::proptests
