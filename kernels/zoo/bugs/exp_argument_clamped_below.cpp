// C12, AiDotNet.Tensors PR #126: exp(z) is exp(-87) below -87: what is masked or negligible is not zero.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_exp_argument_clamped_below(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    Real sum = 0;
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      const Real z = (row.logits[i] - m) * reciprocal_theta(row);
      row.out[i] = std::exp(z < -87 ? Real(-87) : z);
      sum += row.out[i];
    }
    divide(row.out, sum);
  });
}
