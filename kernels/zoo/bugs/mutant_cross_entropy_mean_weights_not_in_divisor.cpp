// Bug: class weights multiply the losses, but the divisor is the number of rows that count.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_weights_not_in_divisor(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN, [](auto& call) {
    auto count = call.upstream * 0;
    for (const auto& row : call.rows) count += row.ignored() ? 0 : 1;
    return call.sum_of_losses() / (call.mean ? count : 1);
  });
}
