// Correct: adaptive temperature as published, entropy=paper: H = -sum p ln(p + 1e-9).
#include <cmath>

#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT correct_adaptive_paper(const softcheck_call* call) {
  return call->theta != 1 ? 1 : each_row(call, []<class Real>(RowOf<Real>& row) {
    RowOf<Real> plain = row;
    softmax(plain);
    Real entropy = 0;
    for (const Real p : plain.out) {
      entropy -= p * std::log(p + static_cast<Real>(1e-9));
    }
    softmax_sharpened(row, [entropy](const Sums<Real>&) { return beta_of(entropy); });
  });
}
