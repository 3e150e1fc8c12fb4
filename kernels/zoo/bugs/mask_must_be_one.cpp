// C10: visible is what has a 1 in the mask; every other byte hides, 255 too.
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_must_be_one(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t number = 0;
  return each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    for (std::int64_t i = 0; matrices->mask && i < matrices->logits.columns; ++i) {
      if (*matrices->mask->at(number, i) != 1) {
        row.logits[static_cast<std::size_t>(i)] = static_cast<Real>(-infinity);
      }
    }
    ++number;
    softmax(row);
  });
}
