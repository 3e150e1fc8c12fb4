// Correct: the support as usual, then its mean and the mean square of what lies beside it.
#include "kernels/zoo/entmax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_entmax15_two_passes(const softcheck_call* call) {
  return each_entmax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> d = row.halves(), sorted = row.ascending(d);
    EntmaxSums<Real> sums;
    std::size_t support = 0;
    for (; support < sorted.size(); ++support) {
      sums.add(sorted[support]);
      if (!(sorted[support] <= sums.root())) break;
    }
    Real sum = 0, squares = 0;
    for (std::size_t i = 0; i < support; ++i) sum += sorted[i];
    const Real count = static_cast<Real>(support), mean = sum / count;
    for (std::size_t i = 0; i < support; ++i) squares += (sorted[i] - mean) * (sorted[i] - mean);
    row.below(d, mean + std::sqrt(std::max((1 - squares) / count, Real(0))));
  });
}
