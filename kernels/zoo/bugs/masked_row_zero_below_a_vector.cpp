// C1, MLX #1467: rows of less than 128 logits take another path; fully masked, they are zero, the others NaN.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_masked_row_zero_below_a_vector(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    if (row.logits.size() < 128 && maximum(row.logits) == -infinity) {
      row.out.assign(row.out.size(), 0);
      return;
    }
    softmax(row);
  });
}
