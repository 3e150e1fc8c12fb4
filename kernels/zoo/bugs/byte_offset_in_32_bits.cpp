// C6, Paddle PR #71935, PyTorch #84144: the offset of a row of the output is counted in bytes, in a uint32, which wraps
// at 4 GiB.
#include <cstdint>
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_byte_offset_in_32_bits(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t r = 0;
  Matrices changed = *matrices;
  return each_row(*matrices, [&](auto& row) {
    softmax(row);
    const std::int64_t whole = r * matrices->out.row_stride * (matrices->out.type.bits / 8);
    changed.out.data = matrices->out.data + static_cast<std::int64_t>(static_cast<std::uint32_t>(whole)) - whole;
    scatter(changed, r++, row);
    row.out.clear();
  });
}
