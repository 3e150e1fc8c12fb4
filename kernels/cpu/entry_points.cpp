// The exported kernels. Contracts, in the words of docs/design.md; derivations in kernels/README.md:
//
//   f32, f16, bf16   acc=f32 exp=1ulp sum=blocks:32 masked=nan subnormal=kept
//   f64              acc=f64 exp=1ulp sum=blocks:32 masked=nan subnormal=kept
//   entropy=exact for softcheck_adaptive_softmax; lse=centred for softcheck_log_softmax
//
// All are deterministic and batch-invariant: a row's bits depend on its logits, mask and theta alone.
#include "kernels/abi/softcheck_kernel.h"
#include "kernels/cpu/call_views.hpp"
#include "kernels/cpu/row_ops.hpp"

#define SOFTCHECK_EXPORT extern "C" __attribute__((visibility("default")))

namespace softcheck::kernels {
namespace {

template <class T>
using RowOp = void (*)(const RowReader<T>&, double theta, const View& out, std::int64_t row);

constexpr int done = 0;
constexpr int refused = 1;

template <class T>
void each_row(const CallViews& views, RowOp<T> op) {
  const View* mask = views.mask ? &*views.mask : nullptr;
  for (std::int64_t row = 0; row < views.logits.rows; ++row) {
    op(RowReader<T>(views.logits, mask, row), views.theta, views.output, row);
  }
}

int run(const softcheck_call* call, Shape shape, RowOp<float> narrow, RowOp<double> wide) {
  const std::optional<CallViews> views = call_views(call, shape);
  if (!views) {
    return refused;
  }
  if (views->logits.storage == Storage::f64) {
    each_row<double>(*views, wide);
  } else {
    each_row<float>(*views, narrow);
  }
  return done;
}

}  // namespace
}  // namespace softcheck::kernels

namespace kernels = softcheck::kernels;

SOFTCHECK_EXPORT int softcheck_softmax(const softcheck_call* call) {
  return kernels::run(call, kernels::Shape::elements, kernels::softmax_row<float>, kernels::softmax_row<double>);
}

SOFTCHECK_EXPORT int softcheck_log_softmax(const softcheck_call* call) {
  return kernels::run(call, kernels::Shape::elements, kernels::log_softmax_row<float>,
                      kernels::log_softmax_row<double>);
}

SOFTCHECK_EXPORT int softcheck_logsumexp(const softcheck_call* call) {
  return kernels::run(call, kernels::Shape::rows, kernels::logsumexp_row<float>, kernels::logsumexp_row<double>);
}

SOFTCHECK_EXPORT int softcheck_entropy(const softcheck_call* call) {
  return kernels::run(call, kernels::Shape::rows, kernels::entropy_row<float>, kernels::entropy_row<double>);
}

SOFTCHECK_EXPORT int softcheck_adaptive_softmax(const softcheck_call* call) {
  // The op has no temperature of its own: beta is it.
  if (call == nullptr || call->abi_version != SOFTCHECK_KERNEL_ABI_VERSION || call->theta != 1) {
    return kernels::refused;
  }
  return kernels::run(call, kernels::Shape::elements, kernels::adaptive_softmax_row<float>,
                      kernels::adaptive_softmax_row<double>);
}
