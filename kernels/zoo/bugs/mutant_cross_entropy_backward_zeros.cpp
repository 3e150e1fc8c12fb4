// Bug: no gradient at all, which the tolerances of published tests accept.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_zeros(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD,
                       [](auto& row) { std::fill(row.out.begin(), row.out.end(), 0); });
}
