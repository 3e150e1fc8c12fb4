// C10, gemma.cpp PR #981: from row 512 on each row is masked as row 0 is.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_of_row_0_from_row_512(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row, [&](std::uint8_t byte, std::int64_t column) {
      return (number < 512 ? byte != 0 : *from.mask->at(0, column) != 0);
    });
    softmax(row);
  });
}
