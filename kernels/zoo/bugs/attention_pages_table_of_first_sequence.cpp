// The block table of sequence 0 serves all.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_pages_table_of_first_sequence(const softcheck_call* call) {
  return attend_changed_sequences(call, [](const SequenceCall&, Sequence& s) {
    s.table_row = 0;
    return true;
  });
}
