// Bug: weights are in descending order, their ids in the order of the items.
#include "kernels/mutants/topk_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT mutant_topk_softmax_sorted_weights_alone(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    row.run();
    std::sort(row.ids.begin(), row.ids.end());
  });
}
