// Attention behind the ABI. Contracts, in the words of docs/design.md; derivations in docs/kernels/attention.md:
//
//   f32, f16, bf16   acc=f32 exp=1ulp sum=blocks:128 masked=zero subnormal=kept entropy=exact
//   f64              acc=f64 and the same
//
// Deterministic and batch-invariant: a query's bits depend on its row of scores, the values and the mask alone.
#include <memory>

#include "kernels/abi/softcheck_kernel.h"
#include "kernels/cpu/attention_tile.hpp"
#include "kernels/cpu/attention_views.hpp"
#include "kernels/cpu/parallel_tasks.hpp"

#define SOFTCHECK_EXPORT extern "C" __attribute__((visibility("default")))

namespace softcheck::kernels {
namespace {

constexpr int done = 0;
constexpr int refused = 1;

template <class T>
void attend(const AttentionViews& views, bool adaptive) {
  const std::int64_t rows = rows_of(views);
  const auto most = static_cast<std::int64_t>(tile_rows);
  const std::int64_t tiles = (rows + most - 1) / most;
  parallel_tasks(views.batch() * views.key_heads() * tiles, thread_count(), [&] {
    return [&, tile = std::make_shared<AttentionTile<T>>(views)](std::int64_t task) {
      const std::int64_t first = task % tiles * most;
      const std::int64_t head = task / tiles;
      const auto count = static_cast<std::size_t>(std::min(most, rows - first));
      tile->attend(views, {head / views.key_heads(), head % views.key_heads(), first, count}, adaptive);
    };
  });
}

int run(const softcheck_call* call, bool adaptive) {
  const std::optional<AttentionViews> views = attention_views(call);
  if (!views) {
    return refused;
  }
  try {
    if (views->q.storage == Storage::f64) {
      attend<double>(*views, adaptive);
    } else {
      attend<float>(*views, adaptive);
    }
  } catch (...) {
    return refused;  // out of memory
  }
  return done;
}

}  // namespace
}  // namespace softcheck::kernels

SOFTCHECK_EXPORT int softcheck_attention(const softcheck_call* call) { return softcheck::kernels::run(call, false); }

SOFTCHECK_EXPORT int softcheck_adaptive_attention(const softcheck_call* call) {
  return softcheck::kernels::run(call, true);
}
