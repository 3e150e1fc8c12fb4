// Bug: the radicand is not cut off at 0, and NaN is not beyond anything.
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entmax15_radicand_below_zero(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> d = row.halves(), sorted = row.ascending(d);
    EntmaxSums<Real> sums;
    Real root = std::numeric_limits<Real>::quiet_NaN();
    for (const Real value : sorted) {
      sums.add(value);
      const Real mean = sums.mean(), variance = sums.squares / sums.count - mean * mean;
      const Real next = mean + std::sqrt(1 / sums.count - variance);
      if (value > next) break;
      root = next;
    }
    row.below(d, root);
  });
}
