// The block table's rows are taken to stand side by side, whatever its stride is.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_pages_table_taken_as_compact(const softcheck_call* call) {
  const softcheck_call_2* whole = softcheck_version_2(call);
  const DLTensor* table = nullptr;
  for (std::uint32_t i = 3; whole != nullptr && i < call->n_inputs; ++i) {
    if (whole->input_roles[i] == SOFTCHECK_ROLE_BLOCK_TABLE) table = call->inputs[i];
  }
  if (table == nullptr || table->shape[0] == 0) return attend_changed_sequences(call, unchanged_sequence);
  return attend_sequences(
      call,
      [table](SequenceCall& c) {
        DLTensor compact = *table;
        compact.strides = nullptr;
        c.table = integers_of(compact);
        for (std::int64_t& page : c.table) page = std::clamp<std::int64_t>(page, 0, c.k.shape[0] - 1);
      },
      unchanged_sequence, two_pass);
}
