// C10, the class of ExecuTorch PR #20090: rows from 512 on do not look at the mask.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_mask_unread_from_row_512(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    read_mask(from, number, row,
              [&](std::uint8_t byte, std::int64_t /*column*/) { return byte != 0 || number >= 512; });
    softmax_or_logsumexp(from, row);
  });
}
