// C7: the log-sum-exps of more than 64 queries are written side by side, whatever the strides say.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_lse_compact_beyond_64(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    if (a.outputs > 1 && a.lse.shape[2] > 64) a.lse.strides[2] = 1;
  });
}
