// C7, libnd4j PR #433, the class of ggml #1521: the logits are read again for the sum when the exponentials already
// stand in the output: harmless until both are one buffer.
#include <cstdint>
#include <optional>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_in_place_read_after_write(const softcheck_call* call) {
  std::optional<Matrices> matrices = matrices_of(*call);
  if (!matrices) {
    return 1;
  }
  std::int64_t r = 0;
  return each_row(*matrices, [&]<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    weights(row, m, row.out);
    scatter(*matrices, r, row);
    RowOf<Real> again = gather<Real>(*matrices, r++);
    divide(row.out, weights(again, m, again.out));
  });
}
