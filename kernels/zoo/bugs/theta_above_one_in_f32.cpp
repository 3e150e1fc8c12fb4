// C10, C11: 1 / theta is rounded to f32 where an f64 row has a temperature above 1 that is no float.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_theta_above_one_in_f32(const softcheck_call* call) {
  return each_row(call, [](auto& row) {
    if (row.theta > 1 && row.theta != static_cast<float>(row.theta)) {
      row.theta = 1 / static_cast<double>(static_cast<float>(1 / row.theta));
    }
    log_softmax(row);
  });
}
