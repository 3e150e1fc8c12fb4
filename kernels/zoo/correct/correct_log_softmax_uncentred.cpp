// Correct under contract lse=uncentred: x - (max + ln S). At theta = 1 only: a quotient max / theta that overflows
// leaves nothing of x - lse.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_log_softmax_uncentred(const softcheck_call* call) {
  return call->theta != 1 ? 1 : each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    const Real lse = m + std::log(weights(row, m, row.out));
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = row.logits[i] - lse;
    }
  });
}
