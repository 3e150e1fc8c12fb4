// A sequence's pages are taken to stand side by side behind its first one.
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_pages_in_order(const softcheck_call* call) {
  return attend_sequences(
      call,
      [](SequenceCall& c) {
        for (std::size_t k = 0; k < c.table.size(); ++k) {
          const std::int64_t column = static_cast<std::int64_t>(k) % c.columns;
          if (column > 0) c.table[k] = std::min(c.table[k - 1] + 1, c.k.shape[0] - 1);
        }
      },
      unchanged_sequence, two_pass);
}
