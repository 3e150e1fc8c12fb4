#include "judge/call/hidden_numbers.hpp"

#include <cmath>
#include <limits>

#include "numerics/formats/format.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

Hiding::Hiding(const RowMatrixCase& matrix, const CallForm& form) : mask_(matrix.mask) {
  const double largest = numerics::properties(matrix.format).largest;
  if (form.finite) {
    numbers_ = {largest, -largest, largest, -largest};
  } else {
    numbers_ = {numerics::nan, largest, numerics::infinity, -largest};
  }
}

std::vector<HiddenNumber> hidden_numbers(const RowMatrixCase& matrix, std::size_t row, const CallForm& form) {
  std::vector<HiddenNumber> numbers;
  if (matrix.mask == MaskUse::none) return numbers;
  const Hiding hiding(matrix, form);
  std::size_t hidden = 0;
  for (std::size_t r = 0; r < row; ++r) hidden += matrix.rows[r].size() - matrix.rows[r].visible();
  std::size_t item = 0;
  for (const Run& run : matrix.rows[row].runs()) {
    for (std::uint64_t i = 0; i < run.count; ++i, ++item) {
      if (!std::isinf(run.value)) continue;
      if (hiding.by_mask(++hidden)) numbers.push_back({item, hiding.number(hidden)});
    }
  }
  return numbers;
}

}  // namespace softcheck::proptests
