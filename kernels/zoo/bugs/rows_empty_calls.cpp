// Bugs of rows: empty calls.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// C14, TensorFlow #6766: an allocation of 0 rows aborts.
// @judged log_softmax f64: exp=1ulp sum=sequential masked=nan; crash C14; AnEmptyCallHasItsValues; kernel.returns
SOFTCHECK_MUTANT mutant_aborts_without_rows(const softcheck_call* call) {
  if (call->inputs[0]->shape[0] == 0) {
    std::abort();
  }
  return each_row(call, [](auto& row) { log_softmax(row); });
}

// C14, PyTorch #17262, rten #307: rows per block are a cache size divided by the width: a width of 0 is a
// floating-point exception. On aarch64 that quotient is 0, so the mutant ends its process itself.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; crash C14; AnEmptyCallHasItsValues; kernel.returns
SOFTCHECK_MUTANT mutant_divides_by_empty_width(const softcheck_call* call) {
  volatile std::int64_t width = call->inputs[0]->shape[1];
  volatile std::int64_t rows_per_block = 32768 / width;
  static_cast<void>(rows_per_block);
  if (width == 0) __builtin_trap();
  return each_row(call, [](auto& row) { softmax(row); });
}

// C14: an empty row's entropy is 0, though a row with nothing visible is declared to be NaN.
// @judged entropy f32: exp=1ulp sum=sequential masked=nan; fail C14; AnEmptyCallHasItsValues; kernel.masked_row
SOFTCHECK_MUTANT mutant_entropy_of_empty_row_zero(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    if (row.logits.empty()) {
      row.out[0] = 0;
      return;
    }
    row.out[0] = entropy_or(row, [](const RowOf<Real>& finite) { return entropy_of(sums_of(finite)); });
  });
}

// C14, FlashInfer: never returns.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; timeout C14; EveryValueLiesWithinItsThreshold;
// kernel.returns
SOFTCHECK_MUTANT mutant_hangs(const softcheck_call* call) {
  volatile std::uint32_t version = call->abi_version;
  while (version == call->abi_version) {
  }
  return 0;
}

// C14, FlashInfer and FlashAttention at length 0: the loop ends when its index reaches the last item, which is not
// there.
// @judged entropy f32: exp=1ulp sum=sequential masked=nan; timeout C14; AnEmptyCallHasItsValues; kernel.returns
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

// C14: never returns for n = 1, as loops with a step of n / 2 do.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; timeout C14; EveryValueLiesWithinItsThreshold;
// kernel.returns
SOFTCHECK_MUTANT mutant_hangs_on_one_logit(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const std::size_t step = row.logits.size() / 2;
    volatile std::size_t at = 0;
    while (at + 1 < row.logits.size() + 1 && row.logits.size() == 1) {
      at = at + step;
    }
    softmax(row);
  });
}

// C14, bayesfam #33: the log-sum-exp of nothing is (-inf) - (-inf) instead of -inf.
// @judged logsumexp f32: exp=1ulp sum=sequential masked=nan; fail C14; AnEmptyCallHasItsValues; kernel.masked_row
SOFTCHECK_MUTANT mutant_lse_of_empty_row_nan(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    if (row.logits.empty()) {
      row.out[0] = quiet_nan;
      return;
    }
    row.out[0] = logsumexp_or(row, [](const RowOf<Real>& finite) { return logsumexp_of(finite, sums_of(finite)); });
  });
}
