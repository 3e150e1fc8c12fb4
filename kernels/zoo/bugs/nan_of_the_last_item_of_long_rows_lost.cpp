// C12, C5: the tail of a row of more than 1100 logits takes its maximum with fmax; the last item is there.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_nan_of_the_last_item_of_long_rows_lost(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t /*number*/, auto& row) {
    lose_nans(row, [&](std::int64_t i) { return i > 1100 && i + 1 == from.logits.columns; });
    row.out[0] = entropy_or(row, [](const auto& finite) { return entropy_of(sums_of(finite)); });
  });
}
