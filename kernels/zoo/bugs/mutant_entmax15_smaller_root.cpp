// Bug: the smaller root of the quadratic.
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entmax15_smaller_root(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> d = row.halves(), sorted = row.ascending(d);
    EntmaxSums<Real> sums;
    Real root = std::numeric_limits<Real>::quiet_NaN();
    for (const Real value : sorted) {
      sums.add(value);
      if (!(value <= sums.root())) break;
      root = sums.mean() - std::sqrt(sums.radicand());
    }
    row.below(d, root);
  });
}
