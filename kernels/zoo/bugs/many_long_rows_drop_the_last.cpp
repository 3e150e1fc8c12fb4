// C5, the class of PyTorch #147284: at 64 rows and 1024 logits or more another kernel takes over, and its loop is one
// short.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_many_long_rows_drop_the_last(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    if (from.logits.rows >= 64 && from.logits.columns >= 1024) {
      row.logits.pop_back();
      row.out.back() = 0;
    }
    softmax_or_logsumexp(from, row);
  });
}
