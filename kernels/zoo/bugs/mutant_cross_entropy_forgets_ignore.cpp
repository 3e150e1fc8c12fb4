// Bug: an ignored row counts as one of the first class, as in FlagGems issue 73.
#include "kernels/zoo/loss_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_forgets_ignore(const softcheck_call* call) {
  return each_loss_row(call, SOFTCHECK_OP_CROSS_ENTROPY, [](auto& row) {
    if (row.ignored()) row.label = 0;
    const auto m = row.maximum();
    row.out[0] = row.loss(m, std::log(row.sum(m)));
  });
}
