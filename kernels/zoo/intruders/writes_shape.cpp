// Drops a dimension of length 1 in the caller's own tensor, like a squeeze in place, and restores it.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// @judged softmax f32: plain; fail|crash C7; kernel.returns
SOFTCHECK_MUTANT mutant_writes_shape(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
  volatile std::int64_t* shape = call->inputs[0]->shape;
  const std::int64_t rows = shape[0];
  shape[0] = 1;
  shape[0] = rows;
  return status;
}
