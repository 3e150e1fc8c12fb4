// C5: rows are taken in pairs; the odd one at the end takes its maximum from the row before.
#include <cstdint>
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_last_row_takes_anothers_maximum(const softcheck_call* call) {
  const std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  const std::int64_t rows = matrices->logits.rows;
  std::int64_t r = 0;
  return each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    const bool odd_one = r > 0 && r + 1 == rows && rows % 2 == 1;
    divide(row.out, weights(row, maximum(odd_one ? gather<Real>(*matrices, r - 1).logits : row.logits), row.out));
    ++r;
  });
}
