// C14, FlashInfer and FlashAttention at length 0: the loop ends when its index reaches the last item, which is not
// there.
#include <cstdint>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_hangs_on_empty_row(const softcheck_call* call) {
  const std::int64_t last = call->inputs[0]->shape[1] - 1;
  volatile std::int64_t i = 0;
  while (call->inputs[0]->shape[0] > 0 && last < 0 && i != last) {
    i = (i + 1) % 32768;
  }
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = entropy_or(row, [](const RowOf<Real>& finite) { return entropy_of(sums_of(finite)); });
  });
}
