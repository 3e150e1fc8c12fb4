// C10: the mask is taken for text: a byte of 48, the digit 0, hides.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_of_ascii_digits(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row, [](std::uint8_t byte, std::int64_t /*column*/) { return byte != 0 && byte != 48; });
    softmax(row);
  });
}
