// C10, the class of ONNX Runtime #20059: in rows of more than 1100 logits the mask is added, and infinity - infinity is
// NaN.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_hidden_infinity_seen_in_long_rows(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    for (std::int64_t i = 0; from.mask && from.logits.columns > 1100 && i < from.logits.columns; ++i) {
      if (from.logits.get<Real>(number, i) == static_cast<Real>(infinity)) {
        row.logits[static_cast<std::size_t>(i)] = quiet_nan;
      }
    }
    softmax_or_logsumexp(from, row);
  });
}
