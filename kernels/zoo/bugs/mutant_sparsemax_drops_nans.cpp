// Bug: a NaN is not above any threshold, so that it is 0 and the others go on.
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sparsemax_drops_nans(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    Real m = -std::numeric_limits<Real>::infinity();
    for (const Real x : row.logits) m = x > m ? x : m;
    std::vector<Real> z, sorted;
    for (const Real x : row.logits) z.push_back(x - m);
    for (const Real value : z) {
      if (!std::isnan(value)) sorted.push_back(value);
    }
    const Real tau = row.threshold_of(row.descending(sorted));
    for (std::size_t i = 0; i < z.size(); ++i) row.out[i] = std::isinf(m) ? m - m : z[i] > tau ? z[i] - tau : 0;
  });
}
