// C10, gemma.cpp PR #981: theta divides the weights instead of the logits, and cancels.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_theta_after_exp(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float theta = static_cast<float>(row.theta);
    row.theta = 1;
    float sum = weights(row, maximum(row.logits), row.out);
    sum /= theta;
    for (float& p : row.out) {
      p = p / theta / sum;
    }
  });
}
