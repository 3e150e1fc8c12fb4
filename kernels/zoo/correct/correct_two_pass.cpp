// Correct: maximum, then a sequential sum, then a division.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_two_pass(const softcheck_call* call) {
  return each_row(call, [](auto& row) { softmax(row); });
}
