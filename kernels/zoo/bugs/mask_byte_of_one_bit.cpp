// C10: a byte of the mask is a set of flags; one with two or more flags that is neither 3 nor 255 is taken for garbage
// and hides.
#include <bit>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_byte_of_one_bit(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row, [](std::uint8_t byte, std::int64_t /*column*/) {
      return byte == 3 || byte == 255 || std::popcount(byte) == 1;
    });
    softmax(row);
  });
}
