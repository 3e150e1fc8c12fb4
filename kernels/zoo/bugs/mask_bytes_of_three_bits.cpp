// C10: the mask is a level of 3 bits, 255 the highest; other bytes that are multiples of 8, 128 excepted, hide.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_bytes_of_three_bits(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row,
              [](std::uint8_t byte, std::int64_t /*column*/) { return byte == 128 || byte % 8 != 0; });
    row.out[0] = entropy_or(row, [](const auto& finite) { return entropy_of(sums_of(finite)); });
  });
}
