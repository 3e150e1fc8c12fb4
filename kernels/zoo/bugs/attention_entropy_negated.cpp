// C13, PyTorch #40553: sum p ln p.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_entropy_negated(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    attend_two_pass(row);
    row.entropy = -row.entropy;
  });
}
