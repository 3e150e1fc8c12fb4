// C2 for the adaptive temperature: beta from the entropy of the last block of 8 keys.
#include <algorithm>

#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_adaptive_beta_of_last_block(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    const std::size_t n = row.items(), last = n > 0 ? (n - 1) / 8 * 8 : 0;
    const Real beta = beta_of(entropy_of(online(row, last, n)));
    finish(row, online(row, 0, n, beta), beta);
  });
}
