// C6, ONNX Runtime #32299: the row times its stride is an int32, which wraps at 2^31 elements.
#include <cstdint>
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_offset_in_32_bits(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t r = 0;
  return each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    const View& in = matrices->logits;
    const std::int64_t whole = r * in.row_stride;
    const auto wrapped = static_cast<std::int64_t>(static_cast<std::int32_t>(static_cast<std::uint32_t>(whole)));
    View read = in;
    read.data += (wrapped - whole) * (in.type.bits / 8);
    Matrices changed = *matrices;
    changed.logits = read;
    row.logits = gather<Real>(changed, r++).logits;
    softmax(row);
  });
}
