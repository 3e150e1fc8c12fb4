// C10, metal-flash-attention #8: the temperature reaches the first 512 rows, the others take 1.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_theta_of_512_rows(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& /*from*/, std::int64_t number, auto& row) {
    row.theta = number < 512 ? row.theta : 1;
    softmax(row);
  });
}
