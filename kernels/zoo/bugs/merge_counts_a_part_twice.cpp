// C2, the class of vLLM #49294: the first part of a split row is merged a second time.
#include <cmath>
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_merge_counts_a_part_twice(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = logsumexp_or(row, [](const RowOf<Real>& finite) {
      Sums<Real> all{maximum(finite.logits), 0, 0};
      std::vector<Sums<Real>> parts = parts_of(finite);
      if (parts.size() > 1) {
        parts.push_back(parts.front());
      }
      for (const Sums<Real>& part : parts) {
        all.weights += part.weights * std::exp((part.maximum - all.maximum) * reciprocal_theta(finite));
      }
      return logsumexp_of(finite, all);
    });
  });
}
