// Bug: 1e-7 is added to the sum that weights are divided by; published tests accept it at a tolerance of 1e-3.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_epsilon(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    using Real = decltype(row.maximum());
    const bool renormalize = row.renormalize;
    row.renormalize = false;
    row.run();
    if (renormalize) row.divide_by_sum(static_cast<Real>(1e-7));
  });
}
