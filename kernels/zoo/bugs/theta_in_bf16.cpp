// C10, C11, the class of gemma #562: the temperature is passed in bf16.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_theta_in_bf16(const softcheck_call* call) {
  return each_row(call, [](auto& row) {
    row.theta = rounded_to_bf16(static_cast<float>(row.theta));
    softmax(row);
  });
}
