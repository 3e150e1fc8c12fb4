// Bug: the support is counted from 0 and read from 1: one item too many divides.
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sparsemax_one_item_more(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> z = row.centred(), sorted = row.descending(z);
    Real sum = 0, tau = -1;
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      sum += sorted[k];
      if (1 + static_cast<Real>(k + 1) * sorted[k] > sum) tau = (sum - 1) / static_cast<Real>(k + 2);
    }
    row.above(z, tau);
  });
}
