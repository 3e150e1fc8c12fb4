// C10: the mask is applied in the first block of 512 columns; later blocks are taken to be visible.
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_of_first_512_columns(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t number = 0;
  return each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    for (std::int64_t i = 512; i < matrices->logits.columns; ++i) {
      row.logits[static_cast<std::size_t>(i)] = matrices->logits.get<Real>(number, i);
    }
    ++number;
    softmax(row);
  });
}
