// C4, MNN #235, the class of hb-pytorch #61: nothing is subtracted, and logits beyond +-88.376 are clamped to that.
#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_exp_argument_clamped(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    const Real scale = reciprocal_theta(row);
    Real sum = 0;
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      const Real z = row.logits[i] * scale;
      row.out[i] = row.logits[i] == -infinity ? 0 : std::exp(std::clamp(z, Real(-88.376), Real(88.376)));
      sum += std::isfinite(m) ? row.out[i] : static_cast<Real>(quiet_nan);
    }
    divide(row.out, sum);
  });
}
