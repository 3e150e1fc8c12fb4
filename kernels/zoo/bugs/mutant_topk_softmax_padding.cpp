// Bug: the row is padded to a power of two, and the padding counts as logits of 0.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_padding(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    const std::size_t n = row.items();
    std::size_t padded = 1;
    while (padded < n) padded *= 2;
    row.logits.resize(padded, 0);
    row.run();
    for (auto& id : row.ids) id = std::min(id, static_cast<std::int32_t>(n - 1));
  });
}
