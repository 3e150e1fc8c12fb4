// Bug: weights are divided by their sum whether that is asked for or not.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_always_renormalises(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    row.run();
    row.divide_by_sum();
  });
}
