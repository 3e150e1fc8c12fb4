// Correct; a call with a mask is refused.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_without_masks(const softcheck_call* call) {
  return call->n_inputs != 1 ? 1 : each_row(call, [](auto& row) { softmax(row); });
}
