// Correct: adaptive temperature by the exact entropy, entropy=exact.
#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT correct_adaptive(const softcheck_call* call) {
  return call->theta != 1 ? 1 : each_row(call, [](auto& row) { adaptive_softmax(row); });
}
