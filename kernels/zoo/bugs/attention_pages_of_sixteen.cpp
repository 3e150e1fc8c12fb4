// A page has sixteen slots, whatever the call says.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_pages_of_sixteen(const softcheck_call* call) {
  return attend_sequences(
      call, [](SequenceCall& c) { c.page = std::min<std::int64_t>(c.page, 16); },
      [](const SequenceCall& c, Sequence& s) {
        s.keys = std::min(s.keys, c.columns * c.page);
        return true;
      },
      two_pass);
}
