// C5, PyTorch #143644: the last vector of 8 overlaps the one before, and what both hold is counted twice.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_tail_counted_twice(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = logsumexp_or(row, [](const RowOf<Real>& finite) {
      Sums<Real> sums = sums_of(finite);
      const std::size_t n = finite.logits.size();
      const std::size_t overlap = n > 8 && n % 8 != 0 ? 8 - n % 8 : 0;
      for (std::size_t i = 0; i < overlap; ++i) {
        sums.weights += std::exp((finite.logits[n - 8 + i] - sums.maximum) * reciprocal_theta(finite));
      }
      return logsumexp_of(finite, sums);
    });
  });
}
