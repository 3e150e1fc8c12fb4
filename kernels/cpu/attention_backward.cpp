// The gradient of attention behind the ABI: (q, k, v, dL/dout[, mask]) to dL/dq, dL/dk, dL/dv, as many as are asked
// for, in the inputs' format. How near the results come to the truth is derived in
// docs/tolerances/attention_gradient.md from acc=f32 (f64 for f64) exp=1ulp sum=blocks:128.
//
// Deterministic: the same bits on every number of threads and in every batch.
#include <memory>
#include <vector>

#include "kernels/abi/softcheck_kernel.h"
#include "kernels/cpu/attention_gradient.hpp"
#include "kernels/cpu/packed_views.hpp"
#include "kernels/cpu/parallel_tasks.hpp"

#define SOFTCHECK_EXPORT extern "C" __attribute__((visibility("default")))

namespace softcheck::kernels {
namespace {

constexpr int done = 0;
constexpr int refused = 1;

using Calls = std::vector<AttentionGradientViews>;

/// Part of a key head of a call.
struct HeadPart {
  std::size_t call;
  std::int64_t batch, key_head, first;
};

/// Calls make_worker()(part) for first = 0, step, 2 step, ... below count(views), of each key head of each call.
template <class Count, class MakeWorker>
void parallel_heads(const Calls& calls, Count count, std::int64_t step, MakeWorker make_worker) {
  const auto parts_of = [&](const AttentionViews& views) { return (count(views) + step - 1) / step; };
  CallTasks tasks;
  for (const AttentionGradientViews& views : calls) {
    tasks.add(views.forward.batch() * views.forward.key_heads() * parts_of(views.forward));
  }
  parallel_tasks(tasks.count(), thread_count(), [&] {
    return [&, worker = make_worker()](std::int64_t task) {
      const auto [call, own] = tasks[task];
      const AttentionViews& views = calls[call].forward;
      const std::int64_t parts = parts_of(views), head = own / parts;
      worker(HeadPart{call, head / views.key_heads(), head % views.key_heads(), own % parts * step});
    };
  });
}

/// The terms of every query of some calls.
template <class T>
class CallTerms {
 public:
  explicit CallTerms(const Calls& calls) : calls_(calls) {
    std::size_t count = 0;
    for (const AttentionGradientViews& views : calls) {
      begins_.push_back(count);
      count += static_cast<std::size_t>(views.forward.batch() * views.forward.key_heads() * rows_of(views.forward));
    }
    terms_.resize(count);
  }

  /// Of a key head's rows.
  GradientTerms<T>* of(const HeadPart& part) {
    const AttentionViews& views = calls_[part.call].forward;
    return terms_.data() + begins_[part.call] + (part.batch * views.key_heads() + part.key_head) * rows_of(views);
  }

 private:
  const Calls& calls_;
  std::vector<std::size_t> begins_;
  std::vector<GradientTerms<T>> terms_;
};

/// Calls in one, largest with as many queries and keys as any of them.
template <class T>
void differentiate(const Calls& calls, const AttentionGradientViews& largest, bool adaptive) {
  const auto most = static_cast<std::int64_t>(tile_rows), block = static_cast<std::int64_t>(key_block);
  CallTerms<T> terms(calls);
  parallel_heads(calls, rows_of, most, [&] {
    return [&, gradient = std::make_shared<QueryGradient<T>>(largest)](const HeadPart& part) {
      const AttentionGradientViews& views = calls[part.call];
      const auto rows = static_cast<std::size_t>(std::min(most, rows_of(views.forward) - part.first));
      gradient->run(views, {part.batch, part.key_head, part.first, rows}, adaptive, terms.of(part) + part.first);
    };
  });
  if (!largest.dk) {
    return;
  }
  const auto keys_of = [](const AttentionViews& views) { return views.keys(); };
  parallel_heads(calls, keys_of, block, [&] {
    return [&, gradient = std::make_shared<KeyGradient<T>>(largest)](const HeadPart& part) {
      const AttentionGradientViews& views = calls[part.call];
      const auto count = static_cast<std::size_t>(std::min(block, views.forward.keys() - part.first));
      gradient->run(views, part.batch, part.key_head, {part.first, count}, terms.of(part));
    };
  });
}

void differentiate_any(const Calls& calls, const AttentionGradientViews& largest, bool adaptive) {
  if (largest.dq.storage == Storage::f64) {
    differentiate<double>(calls, largest, adaptive);
  } else {
    differentiate<float>(calls, largest, adaptive);
  }
}

int run(const softcheck_call* call, bool adaptive) try {
  const std::optional<AttentionGradientViews> views = attention_gradient_views(call);
  if (!views) {
    return refused;
  }
  differentiate_any({*views}, *views, adaptive);
  return done;
} catch (...) {
  return refused;  // out of memory
}

int run_packed(const softcheck_call* call, bool adaptive) try {
  const std::optional<SequenceCalls<AttentionGradientViews>> sequences = sequences_of(packed_gradient_call(call));
  if (!sequences) {
    return refused;
  }
  differentiate_any(sequences->each, sequences->all, adaptive);
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

// Packed sequences, packed_views.hpp: the same bits as a call for each. What lies behind the last one is neither read
// nor written.
SOFTCHECK_EXPORT int softcheck_attention_backward_varlen(const softcheck_call* call) {
  return softcheck::kernels::run_packed(call, false);
}

SOFTCHECK_EXPORT int softcheck_adaptive_attention_backward_varlen(const softcheck_call* call) {
  return softcheck::kernels::run_packed(call, true);
}
