// Bug: softmax of the chosen logits alone, though nothing asks for weights that add up to 1 (vLLM and sglang have both
// orders).
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_over_the_chosen(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    row.run();
    auto kept = row.logits;
    kept.resize(row.k());
    for (std::size_t a = 0; a < row.k(); ++a) kept[a] = row.logits[static_cast<std::size_t>(row.ids[a])];
    row.logits = kept;
    row.weights = row.softmax();
  });
}
