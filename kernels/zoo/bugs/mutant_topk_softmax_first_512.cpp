// Bug: no item beyond the 512th is looked at, as a block of 512 threads has one for each.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_first_512(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    if (row.items() > 512) row.logits.resize(std::max<std::size_t>(512, row.k()));
    row.run();
  });
}
