// Bug: weights pass through bf16.
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_topk_softmax_weights_in_bf16(const softcheck_call* call) {
  return each_topk_row(call, [](auto& row) {
    row.run();
    for (auto& w : row.weights) w = rounded_to_bf16(static_cast<float>(w));
  });
}
