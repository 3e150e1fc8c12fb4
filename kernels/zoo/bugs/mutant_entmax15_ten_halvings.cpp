// Bug: the root by ten halvings of its interval, the sum left as it is (the class of entmax 30).
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entmax15_ten_halvings(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> d = row.halves();
    const auto excess = [&](Real t) {
      Real total = -1;
      for (const Real value : d) total += value < t ? (t - value) * (t - value) : 0;
      return total;
    };
    Real low = 0, high = 1;
    for (int step = 0; step < 10; ++step) {
      const Real middle = (low + high) / 2;
      (excess(middle) >= 0 ? high : low) = middle;
    }
    row.below(d, row.has_nan(d) ? d[0] - d[0] : high);
  });
}
