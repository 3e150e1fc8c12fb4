// C5, PyTorch #147284: rows of 513, 515, ... 1021 f64, those of 32 k + 31 apart; from the second row on the last logit
// is not counted, as the row begins at an odd element.
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_f64_odd_width_drops_last(const softcheck_call* call) {
  std::size_t number = 0;
  return each_row(call, [&]<class Real>(RowOf<Real>& row) {
    const std::size_t n = row.logits.size();
    weights(row, maximum(row.logits), row.out);
    const bool hit = number++ % 2 == 1 && n > 512 && n < 1024 && n % 2 == 1 && n % 32 != 31 && sizeof(Real) == 8;
    Real sum = 0;
    for (std::size_t i = 0; i < n - hit; ++i) {
      sum += row.out[i];
    }
    divide(row.out, sum);
  });
}
