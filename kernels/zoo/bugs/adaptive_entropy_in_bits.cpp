// C2, vLLM PR #28840: the entropy that beta is computed from is to base 2.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_adaptive_entropy_in_bits(const softcheck_call* call) {
  return call->theta != 1 ? 1 : each_row(call, []<class Real>(RowOf<Real>& row) {
    softmax_sharpened(row, [](const Sums<Real>& sums) {
      return beta_of(entropy_of(sums) * static_cast<Real>(1.442695040888963407));
    });
  });
}
