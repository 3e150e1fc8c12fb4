// C7, FlagGems #5723: rows are taken to follow each other without a gap.
#include <cstddef>
#include <cstdint>

#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT mutant_ignores_row_stride(const softcheck_call* call) {
  if (!accepts(*call) || call->n_inputs != 1) {
    return 1;
  }
  StridedFloats in = strided(*call->inputs[0]);
  in.row_stride = in.columns;
  for (std::int64_t r = 0; r < in.rows; ++r) {
    Row row = gather(*call, r);
    for (std::int64_t i = 0; i < in.columns; ++i) {
      row.logits[static_cast<std::size_t>(i)] = in.at(r, i);
    }
    softmax(row);
    scatter(*call, r, row);
  }
  return 0;
}
