// C10: the mask is a percentage; from 100 on, 128 and 255 excepted, the item counts as dropped.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_bytes_at_100(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row, [](std::uint8_t byte, std::int64_t /*column*/) {
      return byte != 0 && (byte < 100 || byte == 128 || byte == 255);
    });
    log_softmax(row);
  });
}
