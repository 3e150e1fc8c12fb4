// Bug: the sum in bfloat16.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_adds_in_bf16(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) return;
    const auto m = row.maximum();
    auto s = decltype(m + 0){};
    for (const auto x : row.logits) s = rounded_to_bf16(static_cast<float>(s + std::exp(x - m)));
    row.out[0] = row.loss(m, std::log(s));
  });
}
