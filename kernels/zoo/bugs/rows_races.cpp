// Bugs of rows: races and state between calls.
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <numeric>
#include <thread>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

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
