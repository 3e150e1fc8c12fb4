// Bug: a NaN is not within any root, so that it is 0 and the others go on.
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entmax15_drops_nans(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    Real m = -std::numeric_limits<Real>::infinity();
    for (const Real x : row.logits) m = x > m ? x : m;
    std::vector<Real> d, sorted;
    for (const Real x : row.logits) d.push_back((m - x) / 2);
    for (const Real value : d) {
      if (!std::isnan(value)) sorted.push_back(value);
    }
    const Real root = row.root_of(row.ascending(sorted));
    for (std::size_t i = 0; i < d.size(); ++i) {
      row.out[i] = std::isinf(m) ? m - m : d[i] < root ? (root - d[i]) * (root - d[i]) : 0;
    }
  });
}
