// C14, TensorFlow #6766: an allocation of 0 rows aborts.
#include <cstdlib>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_aborts_without_rows(const softcheck_call* call) {
  if (call->inputs[0]->shape[0] == 0) {
    std::abort();
  }
  return each_row(call, [](auto& row) { log_softmax(row); });
}
