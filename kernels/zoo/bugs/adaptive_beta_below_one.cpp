// C10, the paper: max(P(H), 1) is forgotten: above 5.94 nats the row is flattened.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_adaptive_beta_below_one(const softcheck_call* call) {
  return call->theta != 1 ? 1 : each_row(call, []<class Real>(RowOf<Real>& row) {
    softmax_sharpened(row, [](const Sums<Real>& sums) {
      const Real entropy = entropy_of(sums);
      return entropy > Real(0.5) ? beta_polynomial(entropy) : Real(1);
    });
  });
}
