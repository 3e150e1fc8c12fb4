// Causality aligns the last query with the last slot of the table's pages, not with the last key.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_pages_causal_by_capacity(const softcheck_call* call) {
  return attend_changed_sequences(call, [](const SequenceCall& c, Sequence& s) {
    s.diagonal = c.columns * c.page - s.queries;
    return true;
  });
}
