// Correct: softmax of all logits, then one argmax after the other; of equal items the lowest index first.
#include "kernels/mutants/topk_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT correct_topk_softmax(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) { row.run(); });
}
