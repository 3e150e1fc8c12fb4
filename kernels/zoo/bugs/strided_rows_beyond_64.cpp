// C7, the class of PyTorch #75923: one block of 64 rows follows the strides, the next ones do not.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_strided_rows_beyond_64(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    Matrices compact = from;
    compact.logits.row_stride = from.logits.columns;
    row = gather<Real>(number < 64 ? from : compact, number);
    log_softmax(row);
  });
}
