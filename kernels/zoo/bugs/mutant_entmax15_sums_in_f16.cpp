// Bug: the sums of the sorted items are stored in f16.
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entmax15_sums_in_f16(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> d = row.halves(), sorted = row.ascending(d);
    EntmaxSums<Real> sums;
    Real root = std::numeric_limits<Real>::quiet_NaN();
    for (const Real value : sorted) {
      sums.add(value);
      sums.sum = static_cast<Real>(rounded_to_f16(static_cast<float>(sums.sum)));
      sums.squares = static_cast<Real>(rounded_to_f16(static_cast<float>(sums.squares)));
      if (!(value <= sums.root())) break;
      root = sums.root();
    }
    row.below(d, root);
  });
}
