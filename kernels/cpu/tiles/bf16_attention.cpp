// Attention in bf16 with the products of AMX's tiles. The contract is in kernels/entry/contracts.tsv, derived in
// docs/kernels/attention.md. A query's bits depend only on its row, the keys that it sees and their values.
#include <algorithm>
#include <memory>

#include "kernels/call/packed_views.hpp"
#include "kernels/call/parallel_tasks.hpp"
#include "kernels/cpu/attention/tile_sizes.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/tiles/bf16_tile.hpp"
#include "kernels/entry/ops.hpp"

namespace softcheck::kernels::cpu {
namespace {

constexpr int bf16_done = 0;
constexpr int bf16_refused = 1;

/// Rows of the tiles of some calls: all rows, but at most most_tile_rows, and fewer if a thread would otherwise get no
/// tile.
std::int64_t rows_of_bf16_tiles(const Calls<AttentionViews>& calls) {
  std::int64_t all = 0, most = 1;
  for (std::int64_t i = 0; i < calls.count(); ++i) {
    const AttentionViews views = calls[i];
    most = std::max(most, rows_of(views));
    all += views.batch() * views.key_heads() * rows_of(views);
  }
  const std::int64_t threads = thread_count();
  const std::int64_t wanted = threads == 1 ? most : std::min(most, all / (4 * threads));
  constexpr auto step = static_cast<std::int64_t>(unit_rows), limit = static_cast<std::int64_t>(most_tile_rows);
  return std::clamp((wanted + step - 1) / step * step, step, limit);
}

int run_bf16_calls(const Calls<AttentionViews>& calls) {
  const TileLane* lane = tile_lane();
  if (lane == nullptr || calls.largest().q.storage != Storage::bf16) {
    return bf16_refused;
  }
  const std::int64_t most = rows_of_bf16_tiles(calls);
  const auto tiles_of = [&](const AttentionViews& views) { return (rows_of(views) + most - 1) / most; };
  CallTasks tasks;
  for (std::int64_t i = 0; i < calls.count(); ++i) {
    const AttentionViews views = calls[i];
    tasks.add(views.batch() * views.key_heads() * tiles_of(views));
  }
  parallel_tasks(tasks.count(), thread_count(), [&] {
    auto tile = std::make_shared<Bf16Tile>(*lane, calls.largest(), static_cast<std::size_t>(most));
    return [&, tile](std::int64_t task) {
      const auto [index, own] = tasks[task];
      const AttentionViews views = calls[index];
      const std::int64_t first = own % tiles_of(views) * most, head = own / tiles_of(views);
      const auto count = static_cast<std::size_t>(std::min(most, rows_of(views) - first));
      tile->attend(views, {head / views.key_heads(), head % views.key_heads(), first, count});
    };
  });
  return bf16_done;
}

struct Bf16TileOps {
  static int attention_bf16_tiles(const softcheck_call* call) try {
    const std::optional<AttentionViews> views = attributed_attention_views(call);
    const bool plain = views && views->attributes.are_plain() && !views->attributes.sinks &&
                       views->attributes.right == AttentionAttributes::all;
    return plain ? run_bf16_calls(Calls(*views)) : bf16_refused;
  } catch (...) {
    return bf16_refused;  // out of memory
  }
  static int attention_bf16_tiles_varlen(const softcheck_call* call) try {
    const std::optional<PackedCall<AttentionViews>> packed = packed_call(call);
    return packed && lengths_fit(*packed) ? run_bf16_calls(Calls(*packed)) : bf16_refused;
  } catch (...) {
    return bf16_refused;  // out of memory
  }
};

}  // namespace
}  // namespace softcheck::kernels::cpu

SOFTCHECK_ENTRY(softcheck_, attention_bf16_tiles, softcheck::kernels::cpu::Bf16TileOps)
SOFTCHECK_ENTRY(softcheck_, attention_bf16_tiles_varlen, softcheck::kernels::cpu::Bf16TileOps)
