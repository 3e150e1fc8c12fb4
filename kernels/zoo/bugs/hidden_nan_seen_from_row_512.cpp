// C1, the class of TensorRT-LLM #17477: from row 512 on the mask multiplies weights by 0 instead of leaving items out,
// and 0 NaN is NaN.
#include <cmath>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_hidden_nan_seen_from_row_512(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    for (std::int64_t i = 0; from.mask && number >= 512 && i < from.logits.columns; ++i) {
      if (std::isnan(from.logits.get<Real>(number, i))) {
        row.logits[static_cast<std::size_t>(i)] = quiet_nan;
      }
    }
    softmax(row);
  });
}
