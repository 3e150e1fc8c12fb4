// C10, the class of metal-flash-attention #8: theta is applied twice.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_scale_twice(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.theta *= row.theta;
    softmax(row);
  });
}
