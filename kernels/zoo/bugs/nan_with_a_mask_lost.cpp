// C12, openvino #23608: the kernel for masks takes its maximum with fmax, which drops NaN, in calls of more than three
// rows.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_nan_with_a_mask_lost(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    lose_nans(row, [&](std::int64_t /*i*/) { return from.mask && from.logits.rows > 3; });
    softmax_or_logsumexp(from, row);
  });
}
