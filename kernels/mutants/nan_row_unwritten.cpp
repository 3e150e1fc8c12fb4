// C16: a row that holds a NaN is skipped: its output is whatever the memory held.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT mutant_nan_row_unwritten(const softcheck_call* call) {
  if (!accepts(*call)) {
    return 1;
  }
  for (std::int64_t r = 0; r < call->inputs[0]->shape[0]; ++r) {
    Row row = gather(*call, r);
    if (std::any_of(row.logits.begin(), row.logits.end(), [](float x) { return std::isnan(x); })) {
      continue;
    }
    softmax(row);
    scatter(*call, r, row);
  }
  return 0;
}
