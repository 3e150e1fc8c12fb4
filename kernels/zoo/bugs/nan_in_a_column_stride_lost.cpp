// C12, C7: the kernel for columns that lie apart drops NaN in rows of more than 300 logits.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_nan_in_a_column_stride_lost(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    lose_nans(row, [&](std::int64_t /*i*/) { return from.logits.column_stride > 1 && from.logits.columns > 300; });
    log_softmax(row);
  });
}
