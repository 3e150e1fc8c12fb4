// Bug: where fewer than k items are visible, the rest of the ids is the first item again.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_masked_id_twice(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    row.run();
    for (std::size_t a = 1; a < row.k(); ++a) {
      if (std::isinf(row.logits[static_cast<std::size_t>(row.ids[a])])) row.ids[a] = row.ids[0];
    }
  });
}
