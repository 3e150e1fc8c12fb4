// C13, pytorch-ood PR #85: probabilities below 1e-7 are clipped to that.
#include <algorithm>
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entropy_of_clipped(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = entropy_or(row, [](RowOf<Real> finite) {
      finite.out.resize(finite.logits.size());
      softmax(finite);
      Real entropy = 0;
      for (const Real p : finite.out) {
        const Real clipped = std::max(p, static_cast<Real>(1e-7));
        entropy -= clipped * std::log(clipped);
      }
      return entropy;
    });
  });
}
