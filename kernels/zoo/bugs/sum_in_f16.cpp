// C11, tract PR #2586, PyTorch #158310: the sum is kept in f16, where 2048 + 1 = 2048.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_sum_in_f16(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    weights(row, maximum(row.logits), row.out);
    float sum = 0;
    for (const float w : row.out) {
      sum = rounded_to_f16(sum + w);
    }
    divide(row.out, sum);
  });
}
