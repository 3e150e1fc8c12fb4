// C14: an empty row's entropy is 0, though a row with nothing visible is declared to be NaN.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entropy_of_empty_row_zero(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    if (row.logits.empty()) {
      row.out[0] = 0;
      return;
    }
    row.out[0] = entropy_or(row, [](const RowOf<Real>& finite) { return entropy_of(sums_of(finite)); });
  });
}
