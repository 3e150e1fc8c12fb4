// C10: the mask is not read.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_ignores_mask(const softcheck_call* call) {
  softcheck_call unmasked = *call;
  unmasked.n_inputs = 1;
  return each_row(&unmasked, [](auto& row) { softmax(row); });
}
