// Correct: maximum, then a sequential sum, then a division.
#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT correct_two_pass(const softcheck_call* call) {
  return each_row(call, [](auto& row) { softmax(row); });
}
