// Correct: compensated summation.
#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT correct_kahan(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    weights(row, maximum(row.logits), row.out);
    float sum = 0;
    float lost = 0;
    for (const float w : row.out) {
      const float term = w - lost;
      const float next = sum + term;
      lost = (next - sum) - term;
      sum = next;
    }
    for (float& p : row.out) {
      p /= sum;
    }
  });
}
