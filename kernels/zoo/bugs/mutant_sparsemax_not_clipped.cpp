// Bug: z - tau is not cut off at 0.
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sparsemax_not_clipped(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> z = row.centred(), sorted = row.descending(z);
    const Real tau = row.threshold_of(sorted);
    for (std::size_t i = 0; i < z.size(); ++i) row.out[i] = z[i] - tau;
  });
}
