// The gradient of attention behind the ABI: (q, k, v, dL/dout[, mask]), by version 2 with dL/dlse where it is there, to
// dL/dq, dL/dk, dL/dv, as many as are asked for, in the inputs' format. How near the results come to the truth is
// derived in docs/tolerances/attention_gradient.md from acc=f32 (f64 for f64) exp=1ulp sum=blocks:128.
//
// Deterministic: the same bits on every number of threads and in every batch.
#include <memory>
#include <vector>

#include "kernels/call/packed_views.hpp"
#include "kernels/call/parallel_tasks.hpp"
#include "kernels/cpu/attention/attention_gradient.hpp"
#include "kernels/cpu/attention/tile_sizes.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/entry/ops.hpp"

namespace softcheck::kernels::cpu {
namespace {

constexpr int done = 0;
constexpr int refused = 1;

using GradientCalls = Calls<AttentionGradientViews>;

/// Part of a key head of a call.
struct HeadPart {
  std::int64_t call, batch, key_head, first;
};

/// Calls make_worker()(part, views) for first = 0, step, 2 step, ... below count(views), of each key head of each call.
template <class Count, class MakeWorker>
void parallel_heads(const GradientCalls& calls, Count count, std::int64_t step, MakeWorker make_worker) {
  const auto parts_of = [&](const AttentionViews& views) { return (count(views) + step - 1) / step; };
  CallTasks tasks;
  for (std::int64_t i = 0; i < calls.count(); ++i) {
    const AttentionViews views = calls[i].forward;
    tasks.add(views.batch() * views.key_heads() * parts_of(views));
  }
  parallel_tasks(tasks.count(), thread_count(), [&] {
    return [&, worker = make_worker()](std::int64_t task) {
      const auto [call, own] = tasks[task];
      const AttentionGradientViews views = calls[call];
      const std::int64_t parts = parts_of(views.forward), head = own / parts, heads = views.forward.key_heads();
      worker(HeadPart{call, head / heads, head % heads, own % parts * step}, views);
    };
  });
}

/// The terms of every query of some calls.
template <class T>
class CallTerms {
 public:
  explicit CallTerms(const GradientCalls& calls) {
    std::size_t count = 0;
    for (std::int64_t i = 0; i < calls.count(); ++i) {
      const AttentionViews views = calls[i].forward;
      begins_.push_back(count);
      count += static_cast<std::size_t>(views.batch() * views.key_heads() * rows_of(views));
    }
    terms_.resize(count);
  }

  /// Of a key head's rows.
  GradientTerms<T>* of(const HeadPart& part, const AttentionViews& views) {
    GradientTerms<T>* first = terms_.data() + begins_[static_cast<std::size_t>(part.call)];
    return first + (part.batch * views.key_heads() + part.key_head) * rows_of(views);
  }

 private:
  std::vector<std::size_t> begins_;
  std::vector<GradientTerms<T>> terms_;
};

template <class T>
void differentiate(const GradientCalls& calls, bool adaptive) {
  const std::int64_t most = rows_of_tiles(calls, rows_that_keep(calls.largest().forward.keys(), sizeof(T)));
  const auto block = static_cast<std::int64_t>(key_block);
  const std::size_t capacity = capacity_of(calls.largest().forward, static_cast<std::size_t>(most));
  CallTerms<T> terms(calls);
  parallel_heads(calls, rows_of, most, [&] {
    return [&, gradient = std::make_shared<QueryGradient<T>>(calls.largest(), capacity)](
               const HeadPart& part, const AttentionGradientViews& views) {
      const auto rows = static_cast<std::size_t>(std::min(most, rows_of(views.forward) - part.first));
      gradient->run(views, {part.batch, part.key_head, part.first, rows}, adaptive,
                    terms.of(part, views.forward) + part.first);
    };
  });
  if (!calls.largest().dk) {
    return;
  }
  const auto keys_of = [](const AttentionViews& views) { return views.keys(); };
  parallel_heads(calls, keys_of, block, [&] {
    return [&, gradient = std::make_shared<KeyGradient<T>>(calls.largest())](const HeadPart& part,
                                                                             const AttentionGradientViews& views) {
      const auto count = static_cast<std::size_t>(std::min(block, views.forward.keys() - part.first));
      gradient->run(views, part.batch, part.key_head, {part.first, count}, terms.of(part, views.forward));
    };
  });
}

void differentiate_any(const GradientCalls& calls, bool adaptive) {
  if (calls.largest().dq.storage == Storage::f64) {
    differentiate<double>(calls, adaptive);
  } else {
    differentiate<float>(calls, adaptive);
  }
}

int run(const softcheck_call* call, bool adaptive) try {
  const std::optional<AttentionGradientViews> views = attention_gradient_views(call);
  if (!views || (adaptive && views->by_lse)) {
    return refused;
  }
  differentiate_any(GradientCalls(*views), adaptive);
  return done;
} catch (...) {
  return refused;  // out of memory
}

int run_packed(const softcheck_call* call, bool adaptive) try {
  const std::optional<PackedCall<AttentionGradientViews>> packed = packed_gradient_call(call);
  if (!packed || !lengths_fit(*packed)) {
    return refused;
  }
  differentiate_any(GradientCalls(*packed), adaptive);
  return done;
} catch (...) {
  return refused;  // out of memory
}

struct BackwardOps {
  static int attention_backward(const softcheck_call* call) { return run(call, false); }
  static int adaptive_attention_backward(const softcheck_call* call) { return run(call, true); }
  static int attention_backward_varlen(const softcheck_call* call) { return run_packed(call, false); }
  static int adaptive_attention_backward_varlen(const softcheck_call* call) { return run_packed(call, true); }
};

}  // namespace
}  // namespace softcheck::kernels::cpu

SOFTCHECK_BACKWARD_ENTRIES(softcheck_, softcheck::kernels::cpu::BackwardOps)
