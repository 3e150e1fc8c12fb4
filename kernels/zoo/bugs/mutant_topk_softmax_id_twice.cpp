// Bug: a maximum that is met again is taken again, as its search begins anew with the same threshold: an id stands
// twice where logits are equal (vLLM 42608, FlashInfer 2202).
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_id_twice(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    using Real = decltype(row.maximum());
    row.run();
    for (std::size_t a = 1; a < row.k(); ++a) {
      const Real before = row.logits[static_cast<std::size_t>(row.ids[a - 1])];
      if (row.logits[static_cast<std::size_t>(row.ids[a])] == before) row.ids[a] = row.ids[a - 1];
    }
  });
}
