// Bug: the condition is z_k > (sum - 1) / k, where the sum of two large numbers is -inf: the item counts (the form of
// Keras and TensorFlow).
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sparsemax_quotient_overflows(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    const std::vector<Real> z = row.centred(), sorted = row.descending(z);
    Real sum = 0;
    std::size_t support = 0;
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      sum += sorted[k];
      if (sorted[k] - (sum - 1) / static_cast<Real>(k + 1) > 0) ++support;
    }
    Real again = 0;
    for (std::size_t k = support; k-- > 0;) again += sorted[k];
    row.above(z, (again - 1) / static_cast<Real>(support));
  });
}
