// Correct: x - max - ln S.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_log_softmax(const softcheck_call* call) {
  return each_row(call, [](auto& row) { log_softmax(row); });
}
