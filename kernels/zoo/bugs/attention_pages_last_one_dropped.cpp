// A page that is not full is left out: length / page pages.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_pages_last_one_dropped(const softcheck_call* call) {
  return attend_changed_sequences(call, [](const SequenceCall& c, Sequence& s) {
    if (s.keys > c.page) s.keys -= s.keys % c.page;
    return true;
  });
}
