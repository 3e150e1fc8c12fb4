// The exported kernels. Contracts, in the words of docs/design.md; derivations in kernels/README.md:
//
//   f32, f16, bf16   acc=f32 exp=1ulp sum=blocks:32 masked=nan subnormal=kept
//   f64              acc=f64 exp=1ulp sum=blocks:32 masked=nan subnormal=kept
//   entropy=exact for softcheck_adaptive_softmax; lse=centred for softcheck_log_softmax
//
// All are deterministic and batch-invariant: a row's bits depend on its logits, mask and theta alone.
#include <algorithm>

#include "kernels/abi/softcheck_kernel.h"
#include "kernels/call/call_views.hpp"
#include "kernels/call/parallel_tasks.hpp"
#include "kernels/cpu/adaptive_backward.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/probability_ops.hpp"
#include "kernels/cpu/state_ops.hpp"

#define SOFTCHECK_EXPORT extern "C" __attribute__((visibility("default")))

namespace softcheck::kernels::cpu {
namespace {

constexpr int done = 0;
constexpr int refused = 1;

// Rows of a task are so many that taking a task costs nothing beside them.
constexpr std::int64_t task_elements = std::int64_t{1} << 15;

/// Rows [begin, end) of a call.
using RowsOp = void (*)(const CallViews& views, std::int64_t begin, std::int64_t end);

int run(const softcheck_call* call, Form form, RowsOp narrow, RowsOp wide) try {
  const std::optional<CallViews> views = call_views(call, form);
  if (!views) {
    return refused;
  }
  const RowsOp op = views->logits.storage == Storage::f64 ? wide : narrow;
  const std::int64_t rows = views->logits.rows;
  const std::int64_t step = std::max<std::int64_t>(1, task_elements / std::max<std::int64_t>(1, views->logits.columns));
  parallel_tasks((rows + step - 1) / step, thread_count(), [&] {
    return [&](std::int64_t task) { op(*views, task * step, std::min(rows, (task + 1) * step)); };
  });
  return done;
} catch (...) {
  return refused;  // out of memory for threads
}

}  // namespace
}  // namespace softcheck::kernels::cpu

namespace kernels = softcheck::kernels::cpu;

SOFTCHECK_EXPORT int softcheck_softmax(const softcheck_call* call) {
  return kernels::run(call, kernels::Form::elements_and_entropy, kernels::softmax_rows<float>,
                      kernels::softmax_rows<double>);
}

SOFTCHECK_EXPORT int softcheck_log_softmax(const softcheck_call* call) {
  return kernels::run(call, kernels::Form::elements, kernels::each_state<float, kernels::log_softmax_row<float>>,
                      kernels::each_state<double, kernels::log_softmax_row<double>>);
}

SOFTCHECK_EXPORT int softcheck_logsumexp(const softcheck_call* call) {
  return kernels::run(call, kernels::Form::rows, kernels::each_state<float, kernels::logsumexp_row<float>>,
                      kernels::each_state<double, kernels::logsumexp_row<double>>);
}

SOFTCHECK_EXPORT int softcheck_entropy(const softcheck_call* call) {
  return kernels::run(call, kernels::Form::rows, kernels::entropy_rows<float>, kernels::entropy_rows<double>);
}

namespace {

// Adaptive ops have no temperature of their own: beta is it.
bool has_temperature(const softcheck_call* call) {
  return call != nullptr && call->abi_version == SOFTCHECK_KERNEL_ABI_VERSION && call->theta != 1;
}

}  // namespace

SOFTCHECK_EXPORT int softcheck_adaptive_softmax(const softcheck_call* call) {
  if (has_temperature(call)) {
    return kernels::refused;
  }
  return kernels::run(call, kernels::Form::elements_and_entropy, kernels::adaptive_softmax_rows<float>,
                      kernels::adaptive_softmax_rows<double>);
}

// Beside the ops that the judge knows: (logits[, mask]) to m, S - 1, T, U, each (rows) and as many as are asked for.
SOFTCHECK_EXPORT int softcheck_row_statistics(const softcheck_call* call) {
  return kernels::run(call, kernels::Form::statistics, kernels::statistics_rows<float>,
                      kernels::statistics_rows<double>);
}

// (logits[, mask]) to (rows), nats squared.
SOFTCHECK_EXPORT int softcheck_varentropy(const softcheck_call* call) {
  return kernels::run(call, kernels::Form::rows, kernels::each_row<float, kernels::varentropy_row<float>>,
                      kernels::each_row<double, kernels::varentropy_row<double>>);
}

// (logits, gradient with respect to the probabilities[, mask]) to the gradient with respect to the logits.
SOFTCHECK_EXPORT int softcheck_adaptive_softmax_backward(const softcheck_call* call) {
  if (has_temperature(call)) {
    return kernels::refused;
  }
  return kernels::run(call, kernels::Form::gradient, kernels::adaptive_backward_rows<float>,
                      kernels::adaptive_backward_rows<double>);
}
