// C10: 254, a label of -2 in a byte, hides.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_byte_254_is_ignored(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row, [](std::uint8_t byte, std::int64_t /*column*/) { return byte != 0 && byte != 254; });
    softmax_or_logsumexp(from, row);
  });
}
