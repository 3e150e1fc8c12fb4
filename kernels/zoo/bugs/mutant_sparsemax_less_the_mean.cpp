// Bug: the mean is subtracted, which -inf makes -inf (TensorFlow 15564).
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sparsemax_less_the_mean(const softcheck_call* call) {
  return each_sparsemax_row(call, [](auto& row) {
    using Real = typename std::decay_t<decltype(row)>::Number;
    Real mean = 0;
    for (const Real x : row.logits) mean += x / static_cast<Real>(row.size());
    std::vector<Real> z;
    for (const Real x : row.logits) z.push_back(x - mean);
    row.above(z, row.threshold_of(row.descending(z)));
  });
}
