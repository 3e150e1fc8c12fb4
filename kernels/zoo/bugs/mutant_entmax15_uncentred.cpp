// Bug: nothing is subtracted first: squares of large logits cancel or overflow (the class of TensorFlow Addons 2314).
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entmax15_uncentred(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    std::vector<Real> d;
    for (const Real x : row.logits) d.push_back(-x / 2);
    const std::vector<Real> sorted = row.ascending(d);
    EntmaxSums<Real> sums;
    Real root = std::numeric_limits<Real>::quiet_NaN();
    for (const Real value : sorted) {
      sums.add(value);
      if (!(value <= sums.root())) break;
      root = sums.root();
    }
    row.below(d, root);
  });
}
