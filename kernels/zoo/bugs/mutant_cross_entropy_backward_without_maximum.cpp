// Bug: no maximum is subtracted: e^x overflows.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_backward_without_maximum(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY_BACKWARD, [](auto& row) {
    if (row.ignored()) return;
    const auto s = row.sum(0);
    for (std::size_t j = 0; j < row.out.size(); ++j) {
      row.out[j] = row.upstream * row.slope(j, std::exp(row.logits[j]) / s, std::log(s));
    }
  });
}
