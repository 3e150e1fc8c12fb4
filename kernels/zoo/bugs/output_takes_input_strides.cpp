// C7, PyTorch #75923, torch/nn #825: the output is written with the strides of the input.
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_output_takes_input_strides(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  if (!matrices->out_is_row_scalar) {
    matrices->out.row_stride = matrices->logits.row_stride;
    matrices->out.column_stride = matrices->logits.column_stride;
  }
  return each_row(*matrices, [](auto& row) { softmax(row); });
}
