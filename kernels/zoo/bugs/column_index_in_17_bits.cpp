// C6, Paddle #43107: 17 bits for a column; behind 131,072 logits a row is read from its beginning again.
#include <cstddef>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_column_index_in_17_bits(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    for (std::size_t i = 131072; i < row.logits.size(); ++i) {
      row.logits[i] = row.logits[i % 131072];
    }
    softmax_or_logsumexp(from, row);
  });
}
