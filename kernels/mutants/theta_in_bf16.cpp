// C10: the temperature is held in bf16: x / T is off by half of a percent, whatever the contract says of where T enters.
#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT mutant_theta_in_bf16(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    for (float& x : row.logits) x = x / rounded_to_bf16(static_cast<float>(row.theta));
    row.theta = 1;
    softmax(row);
  });
}
