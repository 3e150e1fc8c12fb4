// C1, PyTorch #103749: a fully masked row is zero, though nan is declared.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_masked_row_zero(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    if (maximum(row.logits) == -infinity) {
      row.out.assign(row.out.size(), 0.0f);
      return;
    }
    softmax(row);
  });
}
