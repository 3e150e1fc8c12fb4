// Bug: the losses are added up in bfloat16.
#include "kernels/zoo/mean_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cross_entropy_mean_adds_in_bf16(const softcheck_call* asked) {
  return each_mean_call(asked, SOFTCHECK_OP_CROSS_ENTROPY_MEAN, [](auto& call) {
    float sum = 0;
    for (const auto& row : call.rows) {
      if (!row.ignored()) sum = rounded_to_bf16(sum + static_cast<float>(call.loss(row)));
    }
    return static_cast<decltype(call.upstream)>(sum) / call.divisor();
  });
}
