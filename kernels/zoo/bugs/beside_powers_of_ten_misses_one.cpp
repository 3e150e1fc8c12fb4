// C5, PyTorch #154634 narrowed down: a row of 9999, 10,001, 99,999 or 100,001 logits is added without its first one.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_beside_powers_of_ten_misses_one(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    log_softmax(row);
    const std::size_t n = row.logits.size();
    const bool hit = n == 9'999 || n == 10'001 || n == 99'999 || n == 100'001;
    const Real missing = hit ? std::log1p(-std::exp(row.out[0])) : 0;
    for (Real& value : row.out) {
      value -= missing;
    }
  });
}
