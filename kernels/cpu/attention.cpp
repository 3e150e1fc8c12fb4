// Attention behind the ABI. Contracts, in the words of docs/design.md; derivations in docs/kernels/attention.md:
//
//   f32, f16, bf16   acc=f32 exp=1ulp sum=blocks:128 masked=zero subnormal=kept entropy=exact
//   f64              acc=f64 and the same
//
// Deterministic and batch-invariant: a query's bits depend on its row of scores, the values and the mask alone.
#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/abi/softcheck_kernel.h"
#include "kernels/cpu/attention_tile.hpp"
#include "kernels/cpu/packed_views.hpp"
#include "kernels/cpu/parallel_tasks.hpp"

#define SOFTCHECK_EXPORT extern "C" __attribute__((visibility("default")))

namespace softcheck::kernels {
namespace {

constexpr int done = 0;
constexpr int refused = 1;

template <class T>
void attend(const Calls<AttentionViews>& calls, bool adaptive) {
  const auto most = static_cast<std::int64_t>(tile_rows);
  const auto tiles_of = [&](const AttentionViews& views) { return (rows_of(views) + most - 1) / most; };
  CallTasks tasks;
  for (std::int64_t i = 0; i < calls.count(); ++i) {
    const AttentionViews views = calls[i];
    tasks.add(views.batch() * views.key_heads() * tiles_of(views));
  }
  parallel_tasks(tasks.count(), thread_count(), [&] {
    return [&, tile = std::make_shared<AttentionTile<T>>(calls.largest())](std::int64_t task) {
      const auto [call, own] = tasks[task];
      const AttentionViews views = calls[call];
      const std::int64_t first = own % tiles_of(views) * most, head = own / tiles_of(views);
      const auto count = static_cast<std::size_t>(std::min(most, rows_of(views) - first));
      tile->attend(views, {head / views.key_heads(), head % views.key_heads(), first, count}, adaptive);
    };
  });
}

void attend_any(const Calls<AttentionViews>& calls, bool adaptive) {
  if (calls.largest().q.storage == Storage::f64) {
    attend<double>(calls, adaptive);
  } else {
    attend<float>(calls, adaptive);
  }
}

int run(const softcheck_call* call, bool adaptive) try {
  const std::optional<AttentionViews> views = attention_views(call);
  if (!views) {
    return refused;
  }
  attend_any(Calls(*views), adaptive);
  return done;
} catch (...) {
  return refused;  // out of memory
}

int run_packed(const softcheck_call* call, bool adaptive) try {
  const std::optional<PackedCall<AttentionViews>> packed = packed_call(call);
  if (!packed || !lengths_fit(*packed)) {
    return refused;
  }
  attend_any(Calls(*packed), adaptive);
  return done;
} catch (...) {
  return refused;  // out of memory
}

}  // namespace
}  // namespace softcheck::kernels

SOFTCHECK_EXPORT int softcheck_attention(const softcheck_call* call) { return softcheck::kernels::run(call, false); }

SOFTCHECK_EXPORT int softcheck_adaptive_attention(const softcheck_call* call) {
  return softcheck::kernels::run(call, true);
}

// Beside the ops that the judge knows: sequences of different lengths, packed_views.hpp. The same
// bits as a call for each sequence; what lies behind the last one is neither read nor written.
SOFTCHECK_EXPORT int softcheck_attention_varlen(const softcheck_call* call) {
  return softcheck::kernels::run_packed(call, false);
}

SOFTCHECK_EXPORT int softcheck_adaptive_attention_varlen(const softcheck_call* call) {
  return softcheck::kernels::run_packed(call, true);
}
