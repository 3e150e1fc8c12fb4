// The gradient of attention behind the ABI: (q, k, v, dL/dout[, mask]) to dL/dq, dL/dk, dL/dv, as many as are asked
// for, in the inputs' format. How near the results come to the truth is derived in
// docs/tolerances/attention_gradient.md from acc=f32 (f64 for f64) exp=1ulp sum=blocks:128.
//
// Deterministic: the same bits on every number of threads and in every batch.
#include <memory>
#include <vector>

#include "kernels/abi/softcheck_kernel.h"
#include "kernels/cpu/attention_gradient.hpp"
#include "kernels/cpu/parallel_tasks.hpp"

#define SOFTCHECK_EXPORT extern "C" __attribute__((visibility("default")))

namespace softcheck::kernels {
namespace {

constexpr int done = 0;
constexpr int refused = 1;

/// Calls make_worker()(batch, key_head, first) for first = 0, step, 2 step, ... below count, of each key head.
template <class MakeWorker>
void parallel_heads(const AttentionViews& views, std::int64_t count, std::int64_t step, MakeWorker make_worker) {
  const std::int64_t parts = (count + step - 1) / step;
  parallel_tasks(views.batch() * views.key_heads() * parts, thread_count(), [&] {
    return [&, worker = make_worker()](std::int64_t task) {
      const std::int64_t head = task / parts;
      worker(head / views.key_heads(), head % views.key_heads(), task % parts * step);
    };
  });
}

template <class T>
void differentiate(const AttentionGradientViews& views, bool adaptive) {
  const AttentionViews& forward = views.forward;
  const std::int64_t rows = rows_of(forward);
  const auto most = static_cast<std::int64_t>(tile_rows), block = static_cast<std::int64_t>(key_block);
  std::vector<GradientTerms<T>> terms(static_cast<std::size_t>(forward.batch() * forward.key_heads() * rows));
  const auto terms_of = [&](std::int64_t batch, std::int64_t key_head) {
    return terms.data() + (batch * forward.key_heads() + key_head) * rows;
  };
  parallel_heads(forward, rows, most, [&] {
    return [&, part = std::make_shared<QueryGradient<T>>(views)](std::int64_t batch, std::int64_t key_head,
                                                                 std::int64_t first) {
      part->run({batch, key_head, first, static_cast<std::size_t>(std::min(most, rows - first))}, adaptive,
                terms_of(batch, key_head) + first);
    };
  });
  if (!views.dk) {
    return;
  }
  parallel_heads(forward, forward.keys(), block, [&] {
    return [&, part = std::make_shared<KeyGradient<T>>(views)](std::int64_t batch, std::int64_t key_head,
                                                               std::int64_t first) {
      const auto count = static_cast<std::size_t>(std::min(block, forward.keys() - first));
      part->run(batch, key_head, {first, count}, terms_of(batch, key_head));
    };
  });
}

int run(const softcheck_call* call, bool adaptive) try {
  const std::optional<AttentionGradientViews> views = attention_gradient_views(call);
  if (!views) {
    return refused;
  }
  if (views->dq.storage == Storage::f64) {
    differentiate<double>(*views, adaptive);
  } else {
    differentiate<float>(*views, adaptive);
  }
  return done;
} catch (...) {
  return refused;  // out of memory
}

}  // namespace
}  // namespace softcheck::kernels

SOFTCHECK_EXPORT int softcheck_attention_backward(const softcheck_call* call) {
  return softcheck::kernels::run(call, false);
}

SOFTCHECK_EXPORT int softcheck_adaptive_attention_backward(const softcheck_call* call) {
  return softcheck::kernels::run(call, true);
}
