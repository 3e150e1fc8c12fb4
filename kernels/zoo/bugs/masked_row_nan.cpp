// C1, PyTorch #103963, #41508, #55056: a fully masked row is 0/0, though zero is declared.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_masked_row_nan(const softcheck_call* call) {
  return each_row(call, [](auto& row) { softmax(row); });
}
