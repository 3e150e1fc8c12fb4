// C5, the class of PyTorch #147284: the sum forgets the last n % 8 logits.
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_drops_tail(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    weights(row, maximum(row.logits), row.out);
    float sum = 0;
    for (std::size_t i = 0; i < row.out.size() / 8 * 8; ++i) {
      sum += row.out[i];
    }
    for (float& p : row.out) {
      p /= sum;
    }
  });
}
