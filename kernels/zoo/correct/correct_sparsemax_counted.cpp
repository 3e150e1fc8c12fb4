// Correct on short rows: the support is the number of items that meet the condition, as entmax counts it. Behind the
// first that does not, the sums have no part in the answer, but their roundings grow.
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_sparsemax_counted(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> z = row.centred(), sorted = row.descending(z);
    Real sum = 0;
    std::size_t support = 0;
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      sum += sorted[k];
      if (static_cast<Real>(k + 1) * sorted[k] > sum - 1) ++support;
    }
    Real again = 0;
    for (std::size_t k = support; k-- > 0;) again += sorted[k];
    row.above(z, (again - 1) / static_cast<Real>(support));
  });
}
