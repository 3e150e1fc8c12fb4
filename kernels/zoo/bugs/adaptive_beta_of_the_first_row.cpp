// C10: beta is computed once, for the first row of the process.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_adaptive_beta_of_the_first_row(const softcheck_call* call) {
  return call->theta != 1 ? 1 : each_row(call, []<class Real>(RowOf<Real>& row) {
    softmax_sharpened(row, [](const Sums<Real>& sums) {
      static const Real beta = beta_of(entropy_of(sums));
      return beta;
    });
  });
}
