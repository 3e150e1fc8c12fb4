// C10, the paper: beta is taken for a temperature: the logits are divided by it.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_adaptive_beta_divides(const softcheck_call* call) {
  return call->theta != 1 ? 1 : each_row(call, []<class Real>(RowOf<Real>& row) {
    softmax_sharpened(row, [](const Sums<Real>& sums) { return 1 / beta_of(entropy_of(sums)); });
  });
}
