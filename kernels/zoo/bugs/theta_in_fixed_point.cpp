// C10, C11: temperatures from 1/64 to 64 are kept in steps of 2^-20.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_theta_in_fixed_point(const softcheck_call* call) {
  return each_row(call, [](auto& row) {
    if (row.theta > 0x1p-6 && row.theta < 0x1p6) {
      row.theta = std::round(row.theta * 0x1p20) * 0x1p-20;
    }
    log_softmax(row);
  });
}
