// Bug: the largest k whose item is within the root of its own prefix, wherever the first stands that is not. In long
// rows the roundings of sums of items that have no part in the answer meet it again.
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entmax15_last_that_meets(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> d = row.halves(), sorted = row.ascending(d);
    EntmaxSums<Real> sums;
    Real root = std::numeric_limits<Real>::quiet_NaN();
    for (const Real value : sorted) {
      sums.add(value);
      if (value <= sums.root()) root = sums.root();
    }
    row.below(d, root);
  });
}
