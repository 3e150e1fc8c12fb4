// C11, ExecuTorch PR #20090, ik_llama #1196: the sum is kept in bf16, where 256 + 1 = 256.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sum_in_bf16(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    weights(row, maximum(row.logits), row.out);
    float sum = 0;
    for (const float w : row.out) {
      sum = rounded_to_bf16(sum + w);
    }
    divide(row.out, sum);
  });
}
