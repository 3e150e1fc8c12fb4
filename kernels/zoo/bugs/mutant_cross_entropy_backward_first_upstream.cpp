// Bug: every row times the first upstream gradient, as in Liger-Kernel issue 968.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_first_upstream(const softcheck_call* call) {
  return each_loss_row(
      call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) { put_gradient(row); }, [](std::int64_t) { return 0; });
}
