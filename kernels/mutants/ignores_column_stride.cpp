// C7, PyTorch #139740: the logits of a row are taken to stand side by side.
#include <cstddef>
#include <cstdint>

#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT mutant_ignores_column_stride(const softcheck_call* call) {
  if (!accepts(*call) || call->n_inputs != 1) {
    return 1;
  }
  StridedFloats in = strided(*call->inputs[0]);
  in.column_stride = 1;
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
