// Not wrong, but the bits of a row depend on how many rows stand beside it: the direction of the sum does.
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_not_batch_invariant(const softcheck_call* call) {
  return each_row(call, [&](Row& row) {
    weights(row, maximum(row.logits), row.out);
    float sum = 0;
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      sum += row.out[call->inputs[0]->shape[0] % 2 == 0 ? i : row.out.size() - 1 - i];
    }
    for (float& p : row.out) {
      p /= sum;
    }
  });
}
