// C13: -sum p ln(p + 1e-9), as in the paper and in many training scripts; f64 shows it.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entropy_plus_1e_9(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = entropy_or(row, [](RowOf<Real> finite) {
      finite.out.resize(finite.logits.size());
      softmax(finite);
      Real entropy = 0;
      for (const Real p : finite.out) {
        entropy -= p * std::log(p + static_cast<Real>(1e-9));
      }
      return entropy;
    });
  });
}
