// Bugs of rows: empty calls, memory, races, the floating-point environment, and how a call ends.
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cfenv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "kernels/zoo/numbered_rows.hpp"
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

// C16, KernelBench PR #82: results are added to the output, which a framework had cleared.
// @judged log_softmax f64: plain; fail C16
BUG(mutant_adds_to_output, changed_results, log_softmax_row) {
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    row.out[i] += from.out.get<Real>(number, static_cast<std::int64_t>(i));
  }
}

// C16: a row with a NaN is skipped: its output is the previous contents of the memory.
// @judged softmax f32: plain; fail C16; ANanLogitMakesItsRowNan
BUG(mutant_nan_row_unwritten, each_row) {
  if (std::isnan(maximum(row.logits))) {
    row.out.clear();
    return;
  }
  softmax(row);
}

// C16, LeetCUDA PR #419: all 32 partial sums are added, though a short row has written fewer; the others are of an
// earlier row.
// @judged softmax f32: plain; fail C16; EarlierCallsDoNotMatter
SOFTCHECK_MUTANT mutant_reads_stale_partials(const softcheck_call* call) {
  static std::array<double, 32> partial;
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    weights(row, maximum(row.logits), row.out);
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      partial[i % 32] = i < 32 ? row.out[i] : partial[i % 32] + row.out[i];
    }
    divide(row.out, static_cast<Real>(std::accumulate(partial.begin(), partial.end(), 0.0)));
  });
}

// C6, C16: results of rows from 100,000 on are left as they were.
// @judged softmax f32: plain; fail C16; EveryPairOfClassesIsComputed; element|kernel.masked_row; witness >=100001;
// effort default
BUG(mutant_rows_behind_100000_unwritten, rows_of_changed_call, softmax_row) {
  matrices.logits.rows = std::min<std::int64_t>(matrices.logits.rows, 100'000);
}

// C16: the last element of a row is never written.
// @judged softmax f32: plain; fail C16
BUG(mutant_unwritten_tail, changed_results, softmax_row) {
  if (row.out.size() > 1) row.out.pop_back();
}

// C16: the sum is in a workspace that is cleared only for the first row.
// @judged logsumexp f32: plain; fail C16; EarlierCallsDoNotMatter
BUG(mutant_workspace_not_cleared, each_narrow_logsumexp) {
  static double sum = 0;
  Sums<float> sums = sums_of(row);
  sum += sums.weights;
  sums.weights = static_cast<float>(sum);
  return logsumexp_of(row, sums);
}

// C8, colibri #1098: not wrong, but two runs differ in their last bits, as with atomics.
// @judged softmax f32: plain; pass C8
// @judged softmax f32: plain; fail C8; kernel.deterministic; require deterministic
SOFTCHECK_MUTANT mutant_nondeterministic(const softcheck_call* call) {
  static unsigned calls = 0;
  ++calls;
  return each_row(call, [](Row& row) {
    weights(row, maximum(row.logits), row.out);
    float sum = 0;
    for (std::size_t i = 0; i < row.out.size(); ++i) sum += row.out[(i + calls) % row.out.size()];
    divide(row.out, sum);
  });
}

// Every value is right, but not batch-invariant: the direction of the sum depends on the number of rows in the call.
// @judged softmax f32: plain; pass C8
// @judged softmax f32: plain; fail C8; LayoutsAndNeighboursDoNotMatter; kernel.batch_invariant; require batch-invariant
BUG(mutant_not_batch_invariant, softmax_by_narrow_sum) {
  float sum = 0;
  for (std::size_t i = 0; i < row.out.size(); ++i) {
    sum += row.out[asked->inputs[0]->shape[0] % 2 == 0 ? i : row.out.size() - 1 - i];
  }
  return sum;
}

// C8, llm.c PR #847: the first thread clears the partial sums after the second has written its own. This kernel forces
// that order.
// @judged softmax bf16: plain; fail C8
BUG(mutant_race_late_initialisation, each_row) {
  weights(row, maximum(row.logits), row.out);
  const auto middle = row.out.begin() + static_cast<std::ptrdiff_t>(row.out.size() / 2);
  std::array<std::atomic<Real>, 2> partial;
  std::thread second([&] { partial[1] = std::accumulate(middle, row.out.end(), Real(0)); });
  second.join();
  partial[0] = partial[1] = 0;
  partial[0] = std::accumulate(row.out.begin(), middle, Real(0));
  divide<Real>(row.out, partial[0] + partial[1]);
}

// C8, colibri PR #1098, llama.cpp PR #26385: two threads share their partial results. There is no barrier between
// reading the maxima and writing the sums, and the second thread is late.
// @judged softmax f32: plain; fail C8
BUG(mutant_race_reused_partials, each_row) {
  const std::size_t n = row.out.size();
  std::array<std::atomic<Real>, 2> partial;
  std::barrier all_here(2);
  const auto half = [&](std::size_t id) {
    const std::size_t begin = id * (n / 2);
    const std::size_t end = id == 0 ? n / 2 : n;
    Real m = -infinity;
    for (std::size_t i = begin; i < end; ++i) {
      m = row.logits[i] > m || std::isnan(row.logits[i]) ? row.logits[i] : m;
    }
    partial[id] = m;
    all_here.arrive_and_wait();
    if (id == 1) std::this_thread::sleep_for(std::chrono::microseconds(20));
    m = std::isnan(m) ? m : std::max<Real>(partial[0], partial[1]);
    // Here a barrier is missing.
    Real sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      row.out[i] = std::exp((row.logits[i] - m) * reciprocal_theta(row));
      sum += row.out[i];
    }
    partial[id] = sum;
    all_here.arrive_and_wait();
    sum = partial[0] + partial[1];
    for (std::size_t i = begin; i < end; ++i) row.out[i] /= sum;
  };
  std::thread second(half, 1);
  half(0);
  second.join();
}

// C8, LeetCUDA #251: the other half of the sum comes from a thread, and the total is read before that has arrived.
// @judged softmax f32: plain; fail C8
BUG(mutant_race_total_read_early, each_row) {
  weights(row, maximum(row.logits), row.out);
  const auto middle = row.out.begin() + static_cast<std::ptrdiff_t>(row.out.size() / 2);
  std::atomic<Real> total = std::accumulate(row.out.begin(), middle, Real(0));
  std::thread other([&] { total = total + std::accumulate(middle, row.out.end(), Real(0)); });
  const Real early = total;
  other.join();
  divide(row.out, early);
}

// C8: a thread that the call started still runs when the call has returned, and then writes to its output.
// @judged softmax f32: plain; fail|crash C8; kernel.stays_inside|element|kernel.returns
SOFTCHECK_MUTANT mutant_writes_after_return(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
  const View out(*call->outputs[0]);
  if (status == 0 && out.rows > 0 && out.columns > 0) {
    std::thread([out] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      out.put(0, 0, 2.0);
    }).detach();
  }
  return status;
}

// The rounding mode is changed and not put back.
// @judged softmax f32: plain; fail FPU; kernel.keeps_environment
SOFTCHECK_MUTANT mutant_rounds_upward(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
  std::fesetround(FE_UPWARD);
  return status;
}

// The toolchain's -ffast-math at run time: flush-to-zero and denormals-are-zero stay set after the call.
#ifdef __SSE__
#include <xmmintrin.h>
#endif

// @judged softmax f32: plain; fail FPU; kernel.keeps_environment
SOFTCHECK_MUTANT mutant_sets_ftz(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
#ifdef __SSE__
  _mm_setcsr(_mm_getcsr() | 0x8040u);  // FTZ and DAZ
#elif defined(__aarch64__)
  unsigned long fpcr = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  __asm__ volatile("msr fpcr, %0" ::"r"(fpcr | 0x1000000));  // FZ
#endif
  return status;
}

// An assertion inside the kernel fails.
// @judged softmax f32: plain; crash exit
SOFTCHECK_MUTANT mutant_aborts(const softcheck_call* call) {
  each_row(call, [](auto& row) { softmax(row); });
  std::abort();
}

// A daemon's habit, every descriptor closed: the judge's channel among them.
// @judged softmax f32: plain; crash exit
SOFTCHECK_MUTANT mutant_closes_every_descriptor(const softcheck_call* call) {
  for (int descriptor = 0; descriptor < 64; ++descriptor) close(descriptor);
  return each_row(call, [](auto& row) { softmax(row); });
}

// A traceback on stderr, in colours and with a bell, before the process ends, as from a plug-in that runs an
// interpreter.
// @judged softmax f32: plain; crash exit
SOFTCHECK_MUTANT mutant_explains_its_death(const softcheck_call*) {
  for (int frame = 0; frame < 20; ++frame) std::fprintf(stderr, "  File \"kernel.py\", line %d\n", frame);
  std::fputs("\033[31mValueError: expected row \a\n", stderr);
  std::fflush(stderr);
  std::abort();
}

// The process ends with success in the middle of a call.
// @judged softmax f32: plain; crash exit
SOFTCHECK_MUTANT mutant_exits_zero(const softcheck_call* call) {
  each_row(call, [](auto& row) { softmax(row); });
  std::_Exit(0);
}

// An exception crosses the C boundary.
// @judged softmax f32: plain; crash exit
SOFTCHECK_MUTANT mutant_throws(const softcheck_call* call) {
  if (call->abi_version == SOFTCHECK_KERNEL_ABI_VERSION) throw std::runtime_error("mutant_throws");
  return 1;
}
