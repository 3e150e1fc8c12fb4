// Bug: the support has softmax's coefficients.
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sparsemax_softmax_of_the_support(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> z = row.centred(), sorted = row.descending(z);
    const Real tau = row.threshold_of(sorted);
    row.above(z, tau);
    Real sum = 0;
    for (std::size_t i = 0; i < z.size(); ++i) sum += row.out[i] > 0 ? std::exp(z[i]) : 0;
    for (std::size_t i = 0; i < z.size(); ++i) row.out[i] = row.out[i] > 0 ? std::exp(z[i]) / sum : row.out[i];
  });
}
