// C10, Liger #1252: rows of more than 4096 logits take a kernel that applies the mask to its first 512 columns.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_of_512_columns_in_long_rows(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row, [&](std::uint8_t byte, std::int64_t column) {
      return byte != 0 || (from.logits.columns > 4096 && column >= 512);
    });
    log_softmax(row);
  });
}
