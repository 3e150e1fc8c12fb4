// Correct: softmax of all logits, then one argmax after the other; of equal items the lowest index first.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_topk_softmax(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) { row.run(); });
}
