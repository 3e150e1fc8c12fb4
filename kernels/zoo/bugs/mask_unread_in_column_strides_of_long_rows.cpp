// C7, C10: a kernel for columns that lie apart, of rows of more than 1100 logits, takes no mask.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_unread_in_column_strides_of_long_rows(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row, [&](std::uint8_t byte, std::int64_t /*column*/) {
      return byte != 0 || (from.logits.column_stride > 1 && from.logits.columns > 1100);
    });
    row.out[0] = entropy_or(row, [](const auto& finite) { return entropy_of(sums_of(finite)); });
  });
}
