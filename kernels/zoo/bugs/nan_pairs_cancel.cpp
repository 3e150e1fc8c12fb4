// C12, C8: a row notes by a flag that it met a NaN, and the next one flips it back.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_nan_pairs_cancel(const softcheck_call* call) {
  return each_row(call, [](auto& row) {
    const auto count = std::count_if(row.logits.begin(), row.logits.end(), [](auto x) { return std::isnan(x); });
    if (count % 2 == 0) {
      lose_nans(row, [](std::int64_t /*i*/) { return true; });
    }
    softmax(row);
  });
}
