// Bug under ties=lowest: of equal items the highest index is chosen and named first.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_highest_of_equal(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    using Real = decltype(row.maximum());
    std::reverse(row.logits.begin(), row.logits.end());
    row.run();
    for (auto& id : row.ids) id = static_cast<std::int32_t>(row.items()) - 1 - id;
    std::reverse(row.logits.begin(), row.logits.end());
    if (row.maximum() != row.maximum()) row.weights.assign(row.k(), std::numeric_limits<Real>::quiet_NaN());
  });
}
