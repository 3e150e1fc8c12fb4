// C1, PyTorch #103963: no guard for S = 0: a fully masked row is NaN though zero is declared.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_masked_row_divides_by_zero(const softcheck_call* call) {
  return attend(call, two_pass);
}
