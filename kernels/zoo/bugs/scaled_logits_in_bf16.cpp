// C11: x / T is stored in bf16: no contract word but acc=bf16 grants that.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_scaled_logits_in_bf16(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    for (float& x : row.logits) x = rounded_to_bf16(x / static_cast<float>(row.theta));
    row.theta = 1;
    softmax(row);
  });
}
