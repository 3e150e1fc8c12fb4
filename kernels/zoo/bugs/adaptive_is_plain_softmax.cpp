// C17: the temperature is not adapted at all; rows below 0.85 nats do not show it.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_adaptive_is_plain_softmax(const softcheck_call* call) {
  return call->theta != 1 ? 1 : each_row(call, [](auto& row) { softmax(row); });
}
