// C2, FlashAttention PR #2388: the merge looks for the maximum of every part at the place of the first.
#include <cmath>
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_by_first_part(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = logsumexp_or(row, [](const RowOf<Real>& finite) {
      Sums<Real> all{maximum(finite.logits), 0, 0};
      const std::vector<Sums<Real>> parts = parts_of(finite);
      for (const Sums<Real>& part : parts) {
        all.weights += part.weights * std::exp((parts.front().maximum - all.maximum) * reciprocal_theta(finite));
      }
      return logsumexp_of(finite, all);
    });
  });
}
