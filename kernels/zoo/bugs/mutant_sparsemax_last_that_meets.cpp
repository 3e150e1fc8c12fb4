// Bug: the largest k that meets the condition, wherever the first stands that does not. In long rows the roundings of
// the sum of items that have no part in the answer meet it again.
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sparsemax_last_that_meets(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> z = row.centred(), sorted = row.descending(z);
    Real sum = 0, tau = std::numeric_limits<Real>::quiet_NaN();
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      sum += sorted[k];
      if (1 + static_cast<Real>(k + 1) * sorted[k] > sum) tau = (sum - 1) / static_cast<Real>(k + 1);
    }
    row.above(z, tau);
  });
}
