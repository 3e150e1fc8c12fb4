// The exported kernels. Contracts, in the words of docs/design.md; derivations in kernels/README.md:
//
//   f32, f16, bf16   acc=f32 exp=1ulp sum=blocks:32 masked=nan subnormal=kept
//   f64              acc=f64 exp=1ulp sum=blocks:32 masked=nan subnormal=kept
//   entropy=exact for softcheck_adaptive_softmax; lse=centred for softcheck_log_softmax
//
// All are deterministic and batch-invariant: a row's bits depend on its logits, mask and theta alone.
#include <algorithm>

#include "kernels/abi/softcheck_kernel.h"
#include "kernels/cpu/call_views.hpp"
#include "kernels/cpu/parallel_tasks.hpp"
#include "kernels/cpu/row_ops.hpp"

#define SOFTCHECK_EXPORT extern "C" __attribute__((visibility("default")))

namespace softcheck::kernels {
namespace {

constexpr int done = 0;
constexpr int refused = 1;

// Rows of a task are so many that taking a task costs nothing beside them.
constexpr std::int64_t task_elements = std::int64_t{1} << 15;

/// Rows [begin, end) of a call.
using RowsOp = void (*)(const CallViews& views, std::int64_t begin, std::int64_t end);

int run(const softcheck_call* call, Shape shape, RowsOp narrow, RowsOp wide) try {
  const std::optional<CallViews> views = call_views(call, shape);
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
}  // namespace softcheck::kernels

namespace kernels = softcheck::kernels;

SOFTCHECK_EXPORT int softcheck_softmax(const softcheck_call* call) {
  return kernels::run(call, kernels::Shape::elements_and_entropy, kernels::softmax_rows<float>,
                      kernels::softmax_rows<double>);
}

SOFTCHECK_EXPORT int softcheck_log_softmax(const softcheck_call* call) {
  return kernels::run(call, kernels::Shape::elements, kernels::each_row<float, kernels::log_softmax_row<float>>,
                      kernels::each_row<double, kernels::log_softmax_row<double>>);
}

SOFTCHECK_EXPORT int softcheck_logsumexp(const softcheck_call* call) {
  return kernels::run(call, kernels::Shape::rows, kernels::each_row<float, kernels::logsumexp_row<float>>,
                      kernels::each_row<double, kernels::logsumexp_row<double>>);
}

SOFTCHECK_EXPORT int softcheck_entropy(const softcheck_call* call) {
  return kernels::run(call, kernels::Shape::rows, kernels::each_row<float, kernels::entropy_row<float>>,
                      kernels::each_row<double, kernels::entropy_row<double>>);
}

SOFTCHECK_EXPORT int softcheck_adaptive_softmax(const softcheck_call* call) {
  // The op has no temperature of its own: beta is it.
  if (call == nullptr || call->abi_version != SOFTCHECK_KERNEL_ABI_VERSION || call->theta != 1) {
    return kernels::refused;
  }
  return kernels::run(call, kernels::Shape::elements_and_entropy,
                      kernels::each_row<float, kernels::adaptive_softmax_row<float>>,
                      kernels::each_row<double, kernels::adaptive_softmax_row<double>>);
}
