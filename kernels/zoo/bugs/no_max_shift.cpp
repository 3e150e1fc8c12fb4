// C4, tt-metal #12661, uTensor #175: the maximum is not subtracted, exp overflows.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_no_max_shift(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) { divide(row.out, weights(row, Real(0), row.out)); });
}
