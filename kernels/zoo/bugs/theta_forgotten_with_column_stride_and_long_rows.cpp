// C10, C7: the kernel for columns that lie apart takes no temperature in rows of more than 1100 logits.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_theta_forgotten_with_column_stride_and_long_rows(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    row.theta = from.logits.column_stride > 1 && from.logits.columns > 1100 ? 1 : row.theta;
    log_softmax(row);
  });
}
