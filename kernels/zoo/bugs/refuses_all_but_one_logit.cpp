// C17: only the calls that are easy to get right are accepted; too few for a verdict.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_refuses_all_but_one_logit(const softcheck_call* call) {
  if (call->inputs[0]->shape[1] != 1) {
    return 1;
  }
  return each_row(call, [](auto& row) { softmax(row); });
}
