// C12, torch-xpu-ops #5022: a NaN logit counts as -inf.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_nan_swallowed(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    for (float& x : row.logits) {
      x = std::isnan(x) ? -infinity : x;
    }
    softmax(row);
  });
}
