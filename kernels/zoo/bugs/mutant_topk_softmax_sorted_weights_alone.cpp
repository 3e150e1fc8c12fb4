// Bug: weights are in descending order, their ids in the order of the items.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_sorted_weights_alone(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    row.run();
    std::sort(row.ids.begin(), row.ids.end());
  });
}
