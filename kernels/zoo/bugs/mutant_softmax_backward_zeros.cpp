// Bug: no gradient at all. Tests whose tolerance is absolute accept it (docs/survivors.md).
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_softmax_backward_zeros(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    for (auto& value : row.out) value = 0;
  });
}
