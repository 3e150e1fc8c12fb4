// C10, Liger #1252: a mask that hides none of the first 2048 columns is taken to hide nothing.
#include <algorithm>
#include <cstdint>

#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_unread_if_its_first_columns_are_ones(const softcheck_call* call) {
  return each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
    bool hides = false;
    for (std::int64_t i = 0; from.mask && i < std::min<std::int64_t>(from.logits.columns, 2048); ++i) {
      hides = hides || *from.mask->at(number, i) == 0;
    }
    read_mask(from, number, row, [&](std::uint8_t byte, std::int64_t /*column*/) { return byte != 0 || !hides; });
    log_softmax(row);
  });
}
