// A length is rounded up to whole pages: what stands in the slots behind it counts.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_pages_whole(const softcheck_call* call) {
  return attend_changed_sequences(call, [](const SequenceCall& c, Sequence& s) {
    s.keys = (s.keys + c.page - 1) / c.page * c.page;
    return true;
  });
}
