// Bug: the logits themselves are the weights (sglang 35160).
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_raw_logits(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    row.run();
    row.weigh(row.logits);
  });
}
