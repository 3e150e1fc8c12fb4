// C2, vLLM #28181 and #52796: the log-sum-exp is to base 2.
#include <numbers>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_lse_base_2(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    attend_two_pass(row);
    row.lse *= static_cast<Real>(std::numbers::log2e);
  });
}
