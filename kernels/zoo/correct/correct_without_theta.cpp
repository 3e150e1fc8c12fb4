// Correct; a temperature other than 1 is refused.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_without_theta(const softcheck_call* call) {
  return call->theta != 1 ? 1 : each_row(call, [](auto& row) { log_softmax(row); });
}
