// C7, apex #1587: the mask of a row behind the 64th is looked for where a compact one would have it.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_stride_of_few_rows(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    Matrices compact = from;
    if (compact.mask && number >= 64) {
      compact.mask->row_stride = from.mask->columns;
      compact.mask->column_stride = 1;
    }
    row = gather<Real>(compact, number);
    softmax(row);
  });
}
