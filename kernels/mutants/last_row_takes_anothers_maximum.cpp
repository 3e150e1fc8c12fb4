// C5: rows are taken in pairs; the odd one at the end takes its maximum from the row before.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT mutant_last_row_takes_anothers_maximum(const softcheck_call* call) {
  if (!accepts(*call)) {
    return 1;
  }
  const std::int64_t rows = call->inputs[0]->shape[0];
  for (std::int64_t r = 0; r < rows; ++r) {
    Row row = gather(*call, r);
    softmax(row);
    if (r > 0 && r + 1 == rows && rows % 2 == 1) {
      const float m = maximum(gather(*call, r - 1).logits);
      float sum = 0;
      for (std::size_t i = 0; i < row.out.size(); ++i) {
        row.out[i] = std::exp(static_cast<float>((row.logits[i] - m) / row.theta));
        sum += row.out[i];
      }
      for (float& p : row.out) {
        p /= sum;
      }
    }
    scatter(*call, r, row);
  }
  return 0;
}
