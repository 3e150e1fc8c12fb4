#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "proptests/generators/row_matrices/row_matrix.hpp"

namespace softcheck::proptests {

/// The parameters of a call beside its matrix.
struct CallForm {
  std::optional<std::size_t> in_place_of = {};  // the output is this input's view, and matrix.out is not used
  std::size_t alignment = 1;                    // of every tensor's first address, in bytes
  bool finite = false;                          // behind a mask lie the largest numbers alone
};

/// What a call hides of its rows: of all items of -inf, row by row, each or every second one by the mask, and the
/// numbers that stand there.
class Hiding {
 public:
  Hiding(const RowMatrixCase& matrix, const CallForm& form);

  /// Of hidden item number so many, counted from 1.
  bool by_mask(std::size_t hidden) const {
    return mask_ == MaskUse::tensor || (mask_ == MaskUse::mixed && hidden % 2 == 1);
  }
  double number(std::size_t hidden) const { return numbers_[hidden % numbers_.size()]; }

 private:
  MaskUse mask_;
  std::array<double, 4> numbers_{};
};

/// A number that stands where the call's mask hides an item.
struct HiddenNumber {
  std::size_t item;
  double value;
};
/// Those of a row, in the order of its items: call_of writes them.
std::vector<HiddenNumber> hidden_numbers(const RowMatrixCase& matrix, std::size_t row, const CallForm& form);

}  // namespace softcheck::proptests
