// Bug: the k largest items in the order of the row, weights and ids alike.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_order_of_items(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    row.run();
    std::sort(row.ids.begin(), row.ids.end());
    row.weigh(row.softmax());
    if (row.renormalize) row.divide_by_sum();
  });
}
