// C3, lattice #361, the class of ONNX Runtime #20059: a masked item is scored -10000 instead of -inf: it wins where the
// visible ones lie lower.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_value_minus_1e4(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    for (Real& x : row.logits) {
      x = x == -infinity && std::isfinite(m) ? -1e4f : x;
    }
    softmax(row);
  });
}
