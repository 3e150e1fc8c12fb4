// C11, PyTorch #38839, #11752, MLX PR #4169: x - (max + ln S): at an offset of -1e7 all digits of ln S are gone.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_log_softmax_minus_lse(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    const Real lse = m * reciprocal_theta(row) + std::log(weights(row, m, row.out));
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = row.logits[i] * reciprocal_theta(row) - lse;
    }
  });
}
