// Correct under contract masked=zero.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_masked_zero(const softcheck_call* call) {
  return each_row(call, [](auto& row) {
    if (maximum(row.logits) == -infinity) {
      row.out.assign(row.out.size(), 0);
      return;
    }
    softmax(row);
  });
}
