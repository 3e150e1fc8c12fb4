// Bugs of rows: empty calls.
#include <cstdlib>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// C14, TensorFlow #6766: an allocation of 0 rows aborts.
// @judged log_softmax f64: plain; crash C14; AnEmptyCallHasItsValues
SOFTCHECK_MUTANT mutant_aborts_without_rows(const softcheck_call* call) {
  if (call->inputs[0]->shape[0] == 0) std::abort();
  return each_row(call, [](auto& row) { log_softmax(row); });
}

// C14, PyTorch #17262, rten #307: rows per block are a cache size divided by the width: a width of 0 is a
// floating-point exception. On aarch64 that quotient is 0, so the mutant ends its process itself.
// @judged softmax f32: plain; crash C14; AnEmptyCallHasItsValues
SOFTCHECK_MUTANT mutant_divides_by_empty_width(const softcheck_call* call) {
  volatile std::int64_t width = call->inputs[0]->shape[1];
  volatile std::int64_t rows_per_block = 32768 / width;
  static_cast<void>(rows_per_block);
  if (width == 0) __builtin_trap();
  return each_row(call, [](auto& row) { softmax(row); });
}

// C14: an empty row's entropy is 0, though a row with nothing visible is declared to be NaN.
// @judged entropy f32: plain; fail C14; AnEmptyCallHasItsValues
BUG(mutant_entropy_of_empty_row_zero, each_row) {
  if (row.logits.empty()) {
    row.out[0] = 0;
    return;
  }
  entropy(row);
}

// C14, FlashInfer: never returns.
// @judged softmax f32: plain; timeout C14
SOFTCHECK_MUTANT mutant_hangs(const softcheck_call* call) {
  volatile std::uint32_t version = call->abi_version;
  while (version == call->abi_version) {
  }
  return 0;
}

// C14, FlashInfer and FlashAttention at length 0: the loop ends when its index reaches the last item, which is not
// there.
// @judged entropy f32: plain; timeout C14; AnEmptyCallHasItsValues
SOFTCHECK_MUTANT mutant_hangs_on_empty_row(const softcheck_call* call) {
  const std::int64_t last = call->inputs[0]->shape[1] - 1;
  volatile std::int64_t i = 0;
  while (call->inputs[0]->shape[0] > 0 && last < 0 && i != last) {
    i = (i + 1) % 32768;
  }
  return each_row(call, []<class Real>(RowOf<Real>& row) { entropy(row); });
}

// C14: never returns for n = 1, as loops with a step of n / 2 do.
// @judged softmax f32: plain; timeout C14
BUG(mutant_hangs_on_one_logit, changed_narrow_rows, softmax_row) {
  const std::size_t step = row.logits.size() / 2;
  volatile std::size_t at = 0;
  while (at + 1 < row.logits.size() + 1 && row.logits.size() == 1) {
    at = at + step;
  }
}

// C14, bayesfam #33: the log-sum-exp of nothing is (-inf) - (-inf) instead of -inf.
// @judged logsumexp f32: plain; fail C14; AnEmptyCallHasItsValues
BUG(mutant_lse_of_empty_row_nan, each_row) {
  if (row.logits.empty()) {
    row.out[0] = quiet_nan;
    return;
  }
  logsumexp(row);
}
