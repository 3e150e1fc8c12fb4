// C7, FlagGems PR #5723: ten rows are copied out of their strides; the rows behind are taken to follow one another.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_strided_rows_beyond_10(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    Matrices compact = from;
    compact.logits.row_stride = from.logits.columns;
    row = gather<Real>(number < 10 ? from : compact, number);
    softmax(row);
  });
}
