// Correct: x - max - ln S.
#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT correct_log_softmax(const softcheck_call* call) {
  return each_row(call, [](auto& row) { log_softmax(row); });
}
