// Bug: in place of the k-th item stands the one behind it (FlashInfer 3774).
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_boundary(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    row.ids.push_back(0);
    row.weights.push_back(0);
    const bool more = row.ids.size() <= row.items();
    if (!more) row.ids.pop_back(), row.weights.pop_back();
    const bool renormalize = row.renormalize;
    row.renormalize = false;
    row.run();
    if (more) {
      row.ids.erase(row.ids.end() - 2);
      row.weights.erase(row.weights.end() - 2);
    }
    if (renormalize) row.divide_by_sum();
  });
}
