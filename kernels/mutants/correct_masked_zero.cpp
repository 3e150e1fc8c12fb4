// Correct under contract masked=zero.
#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT correct_masked_zero(const softcheck_call* call) {
  return each_row(call, [](auto& row) {
    if (maximum(row.logits) == -infinity) {
      row.out.assign(row.out.size(), 0);
      return;
    }
    softmax(row);
  });
}
