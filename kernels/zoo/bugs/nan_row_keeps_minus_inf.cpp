// C12, MindSpore #378: in a row that holds a NaN the masked items stay -inf.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_nan_row_keeps_minus_inf(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    log_softmax(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      const bool masked_beside_nan = row.logits[i] == -infinity && std::isnan(maximum(row.logits));
      row.out[i] = masked_beside_nan ? static_cast<Real>(-infinity) : row.out[i];
    }
  });
}
