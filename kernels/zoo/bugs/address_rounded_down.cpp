// C7, oneDNN PR #3501, Paddle PR #19487: rows are read by vectors whose address the load rounds down to 16 bytes.
#include <cstdint>
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_address_rounded_down(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t r = 0;
  return each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    Matrices changed = *matrices;
    const auto address = reinterpret_cast<std::uintptr_t>(matrices->logits.at(r, 0));
    if (matrices->logits.column_stride == 1) {
      changed.logits.data -= address % 16;
    }
    row.logits = gather<Real>(changed, r++).logits;
    softmax(row);
  });
}
