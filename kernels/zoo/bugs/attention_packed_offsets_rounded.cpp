// FlashAttention 2337: a sequence's first key is looked for at a multiple of the block, where the packing has no
// padding.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_offsets_rounded(const softcheck_call* call) {
  return attend_changed_sequences(call, [](const SequenceCall&, Sequence& s) {
    s.first_key -= s.first_key % 4;
    return true;
  });
}
