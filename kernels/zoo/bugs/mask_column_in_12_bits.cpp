// C6, C10: the column of the mask is kept in 12 bits, so that a row of more than 4096 logits is masked in turns.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_column_in_12_bits(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row,
              [&](std::uint8_t /*byte*/, std::int64_t column) { return *from.mask->at(number, column % 4096) != 0; });
    softmax(row);
  });
}
