// Bug: the variance is divided by k - 1, as torch.var does by default.
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entmax15_unbiased_variance(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> d = row.halves(), sorted = row.ascending(d);
    EntmaxSums<Real> sums;
    Real root = std::numeric_limits<Real>::quiet_NaN();
    for (const Real value : sorted) {
      sums.add(value);
      const Real mean = sums.mean(), less = std::max(sums.count - 1, Real(1));
      const Real variance = (sums.squares - sums.sum * mean) / less;
      const Real next = mean + std::sqrt(std::max(1 / sums.count - variance, Real(0)));
      if (!(value <= next)) break;
      root = next;
    }
    row.below(d, root);
  });
}
