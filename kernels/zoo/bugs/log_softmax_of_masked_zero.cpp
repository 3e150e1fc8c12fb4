// C1, MXNet PR #19703: a masked item gets the log-probability 0 instead of -inf.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_log_softmax_of_masked_zero(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    log_softmax(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = row.logits[i] == -infinity && std::isfinite(maximum(row.logits)) ? 0 : row.out[i];
    }
  });
}
