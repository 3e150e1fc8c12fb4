// Correct: the root of k t^2 - 2 S t + Q - 1, times 1 / k; it stops at the first item that has no coefficient.
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_entmax15_quadratic(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> d = row.halves(), sorted = row.ascending(d);
    Real sum = 0, squares = 0, root = row.has_nan(d) ? d[0] - d[0] : 1;
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      const Real count = static_cast<Real>(k + 1);
      if (sorted[k] >= root) break;
      sum += sorted[k];
      squares += sorted[k] * sorted[k];
      root = (sum + std::sqrt(std::max(sum * sum - count * (squares - 1), Real(0)))) * (1 / count);
    }
    row.below(d, root);
  });
}
