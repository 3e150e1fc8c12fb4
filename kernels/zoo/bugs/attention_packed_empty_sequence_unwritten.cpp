// FlashAttention 2562: a sequence without keys is left out, and its queries' outputs are never written.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_packed_empty_sequence_unwritten(const softcheck_call* call) {
  return attend_changed_sequences(call, [](const SequenceCall&, Sequence& s) { return s.keys > 0; });
}
