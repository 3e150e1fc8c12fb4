// Bug: sorted from the smallest on.
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sparsemax_ascending(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> z = row.centred();
    std::vector<Real> sorted = row.descending(z);
    std::reverse(sorted.begin(), sorted.end());
    row.above(z, row.threshold_of(sorted));
  });
}
