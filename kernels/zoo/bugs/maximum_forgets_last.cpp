// C5, the class of JAX #27224: the maximum is taken over whole blocks of 4 only; a peak in the tail overflows.
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_maximum_forgets_last(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const auto whole = static_cast<std::ptrdiff_t>(row.logits.size() / 4 * 4);
    const Real m = maximum(std::vector<Real>(row.logits.begin(), row.logits.begin() + whole));
    const bool usable = m > -infinity && std::isfinite(maximum(row.logits));
    const Real shift = usable ? m : maximum(row.logits);
    const Real log_sum = std::log(weights(row, shift, row.out));
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = (row.logits[i] - shift) * reciprocal_theta(row) - log_sum;
    }
  });
}
