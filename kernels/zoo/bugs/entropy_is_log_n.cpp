// C17, KernelBench PR #82: ln n, which is right wherever softmax disperses.
#include <cmath>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_entropy_is_log_n(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] =
        entropy_or(row, [](const RowOf<Real>& finite) { return std::log(static_cast<Real>(finite.logits.size())); });
  });
}
