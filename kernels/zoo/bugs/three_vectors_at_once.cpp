// C5, PyTorch #196678, FlashInfer #5090: batches of ten or more rows of more than 64 logits take vectors of 16 in
// pairs; of an odd number of vectors the last one is left out.
#include <cstddef>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_three_vectors_at_once(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    const std::size_t n = row.logits.size();
    if (from.logits.rows >= 10 && n > 64 && n % 32 == 16) {
      row.logits.resize(n - 16);
    }
    softmax_or_logsumexp(from, row);
  });
}
