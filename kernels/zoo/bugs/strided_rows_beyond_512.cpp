// C7, the class of PyTorch PR #139740: rows of a matrix of more than 512 rows are taken to follow one another.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_strided_rows_beyond_512(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    Matrices compact = from;
    compact.logits.row_stride = from.logits.columns;
    row = gather<Real>(from.logits.rows <= 512 ? from : compact, number);
    softmax_or_logsumexp(from, row);
  });
}
