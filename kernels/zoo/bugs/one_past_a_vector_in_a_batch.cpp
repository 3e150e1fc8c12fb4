// C5, PyTorch #154634: batches of 64 or more rows of more than 64 logits; where one logit is left behind the last
// vector it is read from where that began.
#include <cstddef>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_one_past_a_vector_in_a_batch(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    const std::size_t n = row.logits.size();
    if (from.logits.rows >= 64 && n > 64 && n % 16 == 1) {
      row.logits.back() = row.logits[n - 17];
    }
    softmax(row);
  });
}
