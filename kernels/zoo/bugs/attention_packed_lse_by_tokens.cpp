// FlashInfer's layout: lse is written as (total, heads), where (heads, total) is meant.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_lse_by_tokens(const softcheck_call* call) {
  return attend_sequences(
      call,
      [](SequenceCall& c) {
        if (c.outputs < 2) return;
        c.lse.strides[0] = c.lse.strides[1];
        c.lse.strides[1] *= c.heads();
      },
      unchanged_sequence, two_pass);
}
