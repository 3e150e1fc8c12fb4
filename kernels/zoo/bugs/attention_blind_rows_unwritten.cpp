// C16, FlashAttention #1778: causal, more queries than keys: the loop over blocks never runs for the first queries, and
// their rows keep what they held.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_blind_rows_unwritten(const softcheck_call* call) {
  return attend(call, []<class Real>(Row<Real>& row) {
    if (largest(scores(row)) != lowest<Real>) attend_two_pass(row);
  });
}
