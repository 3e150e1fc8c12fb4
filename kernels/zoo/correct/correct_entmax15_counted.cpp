// Correct on short rows: the support is the number of items that are within the root of their own prefix, as entmax
// counts it. Behind the first that is not, the sums have no part in the answer, but their roundings grow.
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_entmax15_counted(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> d = row.halves(), sorted = row.ascending(d);
    EntmaxSums<Real> sums;
    std::size_t support = 0;
    for (const Real value : sorted) {
      sums.add(value);
      if (sums.mean() + std::sqrt(sums.radicand()) >= value) ++support;
    }
    EntmaxSums<Real> again;
    for (std::size_t k = support; k-- > 0;) again.add(sorted[k]);
    row.below(d, again.root());
  });
}
