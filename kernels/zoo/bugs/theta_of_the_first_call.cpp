// C10: 1 / theta is kept from the first call of the process.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_theta_of_the_first_call(const softcheck_call* call) {
  static const double theta = call->theta;
  return each_row(call, [](Row& row) {
    row.theta = theta;
    softmax(row);
  });
}
