// C10: beta is that of the query before.
#include <utility>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_adaptive_beta_of_previous_row(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    static Real previous = 1;
    attend_adaptive(row, [](Real entropy) { return std::exchange(previous, beta_of(entropy)); });
  });
}
