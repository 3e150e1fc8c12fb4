// Correct: fused multiply-adds in the sum and in the difference.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_softmax_backward_fused(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    auto mean = decltype(row.saved[0] + 0){};
    for (std::size_t i = 0; i < row.saved.size(); ++i) mean = std::fma(row.saved[i], row.upstream[i], mean);
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = std::fma(row.saved[i], row.upstream[i], -(row.saved[i] * mean));
    }
  });
}
