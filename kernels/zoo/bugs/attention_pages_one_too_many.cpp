// pegainfer 291: where the length is a whole number of pages, length / page + 1 is a page too many.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_pages_one_too_many(const softcheck_call* call) {
  return attend_changed_sequences(call, [](const SequenceCall& c, Sequence& s) {
    if (s.keys > 0 && s.keys % c.page == 0) s.keys += c.page;
    return true;
  });
}
