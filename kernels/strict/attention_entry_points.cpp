// The attention kernels of kernels/block/ at the CPU's speed: contracts and bits are those of the emulated ones
// (kernels/emulator/plugin) and of those on a GPU. A NaN stands where they have one; its bits are the machine's.
#include <memory>

#include "kernels/cpu/parallel_tasks.hpp"
#include "kernels/strict/attention_tile.hpp"

#define SOFTCHECK_EXPORT extern "C" __attribute__((visibility("default")))

namespace softcheck::kernels::strict {
namespace {

template <class T>
void attend(const AttentionViews& views, bool adaptive) {
  const auto most = static_cast<std::int64_t>(tile_queries);
  const std::int64_t tiles = (views.queries() + most - 1) / most;
  parallel_tasks(views.batch() * views.heads() * tiles, thread_count(), [&] {
    return [&, tile = std::make_shared<AttentionTile<T>>(views)](std::int64_t task) {
      const std::int64_t first = task % tiles * most, head = task / tiles;
      tile->attend(head / views.heads(), head % views.heads(), first,
                   static_cast<std::size_t>(std::min(most, views.queries() - first)), adaptive);
    };
  });
}

int run(const softcheck_call* call, bool adaptive) try {
  const std::optional<AttentionViews> views = attention_views(call);
  if (!views) return 1;
  views->q.storage == Storage::f64 ? attend<double>(*views, adaptive) : attend<float>(*views, adaptive);
  return 0;
} catch (...) {
  return 1;  // out of memory
}

}  // namespace
}  // namespace softcheck::kernels::strict

SOFTCHECK_EXPORT int softcheck_strict_attention(const softcheck_call* call) {
  return softcheck::kernels::strict::run(call, false);
}

SOFTCHECK_EXPORT int softcheck_strict_adaptive_attention(const softcheck_call* call) {
  return softcheck::kernels::strict::run(call, true);
}
