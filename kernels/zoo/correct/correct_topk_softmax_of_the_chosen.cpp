// Correct: where weights are renormalised, softmax of the chosen logits alone; a NaN is chosen first, as torch.topk
// does.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_topk_softmax_of_the_chosen(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    using Real = decltype(row.maximum());
    std::vector<Real> scores = row.logits;
    for (Real& x : scores) x = std::isnan(x) ? std::numeric_limits<Real>::infinity() : x;
    row.choose(scores);
    if (!row.renormalize) return row.weigh(row.softmax());
    std::vector<Real> kept;
    for (const std::int32_t id : row.ids) kept.push_back(row.logits[static_cast<std::size_t>(id)]);
    row.logits = kept;
    row.weights = row.softmax();
  });
}
