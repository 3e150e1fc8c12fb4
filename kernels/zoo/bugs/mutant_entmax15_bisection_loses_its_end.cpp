// Bug: where the end of the interval is the root, the sign of the product is 0 and that end moves on (entmax 32).
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entmax15_bisection_loses_its_end(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> d = row.halves();
    const auto excess = [&](Real t) {
      Real total = -1;
      for (const Real value : d) total += value < t ? (t - value) * (t - value) : 0;
      return total;
    };
    Real high = 1, width = 1 - 1 / std::sqrt(static_cast<Real>(d.size()));
    const Real first = excess(high);
    for (int step = 0; step < 60; ++step) {
      width /= 2;
      if (excess(high - width) * first >= 0) high -= width;
    }
    row.below(d, high);
  });
}
