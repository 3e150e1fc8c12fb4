// Correct under products=bf16: what ATen's CUDA kernel does, which stores g y in the tensor's type before it adds.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_softmax_backward_products_stored(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    auto products = row.out;
    auto mean = decltype(row.saved[0] + 0){};
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      products[i] = stored_in_bf16(row.saved[i] * row.upstream[i]);
      mean += products[i];
    }
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = products[i] - row.saved[i] * mean;
  });
}
