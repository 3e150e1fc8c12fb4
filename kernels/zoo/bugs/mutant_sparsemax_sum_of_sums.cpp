// Bug: the threshold has the sum of the sums up to each item of the support (Keras 23469, TensorFlow 127246).
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sparsemax_sum_of_sums(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> z = row.centred(), sorted = row.descending(z);
    Real sum = 0, sums = 0, support = 0;
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      sum += sorted[k];
      if (!(1 + static_cast<Real>(k + 1) * sorted[k] > sum)) continue;
      sums += sum;
      support += 1;
    }
    row.above(z, (sums - 1) / support);
  });
}
