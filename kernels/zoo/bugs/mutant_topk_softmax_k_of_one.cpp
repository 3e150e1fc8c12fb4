// Bug: the weight of a single expert is 1 (megablocks 87).
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_k_of_one(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    row.run();
    if (row.k() == 1) row.weights[0] = 1;
  });
}
