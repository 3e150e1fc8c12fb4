// C16: a row that holds a NaN is skipped: its output is whatever the memory held.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_nan_row_unwritten(const softcheck_call* call) {
  return each_row(call, [](auto& row) {
    if (std::isnan(maximum(row.logits))) {
      row.out.clear();
      return;
    }
    softmax(row);
  });
}
