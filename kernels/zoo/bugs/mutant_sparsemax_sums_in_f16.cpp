// Bug: the sums of the sorted items are stored in f16.
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sparsemax_sums_in_f16(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> z = row.centred(), sorted = row.descending(z);
    Real sum = 0, tau = -1;
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      sum = static_cast<Real>(rounded_to_f16(static_cast<float>(sum + sorted[k])));
      if (1 + static_cast<Real>(k + 1) * sorted[k] > sum) tau = (sum - 1) / static_cast<Real>(k + 1);
    }
    row.above(z, tau);
  });
}
