// Correct: it stops at the first item that has no coefficient; times 1 / k; the largest coefficient less each
// deviation.
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_sparsemax_reciprocal(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> z = row.centred(), sorted = row.descending(z);
    Real sum = 0, top = 1;
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      if (-sorted[k] >= top) break;
      sum += sorted[k];
      top = (1 - sum) * (1 / static_cast<Real>(k + 1));
    }
    row.above(z, -top);
  });
}
