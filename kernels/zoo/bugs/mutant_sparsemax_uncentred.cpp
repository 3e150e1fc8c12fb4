// Bug: nothing is subtracted first: beside large logits 1 is lost, and no item meets the condition (TensorFlow Addons
// 2314).
#include "kernels/zoo/sparsemax_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sparsemax_uncentred(const softcheck_call* call) {
  return each_sparsemax_row(call,
                            [](auto& row) { row.above(row.logits, row.threshold_of(row.descending(row.logits))); });
}
