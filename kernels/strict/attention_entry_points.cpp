// The attention kernels of kernels/block/ on the CPU's vectors, through the ABI. Bits are those of the emulated kernels
// (kernels/emulator/plugin) and of the kernels on a GPU. They write NaN in the same places; its payload depends on the
// machine.
#include "kernels/call/packed_views.hpp"
#include "kernels/entry/ops.hpp"
#include "kernels/strict/attention_tile.hpp"
#include "kernels/strict/gradient_tiles.hpp"
#include "kernels/strict/machine.hpp"

namespace softcheck::kernels::strict {
namespace {

/// The number of keys of a part, from the number of keys of the call.
using Parting = std::int64_t (*)(std::int64_t keys);

// The ops: run<T>(views) computes a call, T its accumulator. A packed call is computed sequence by sequence.

/// Attention, forward.
struct Attend {
  Parting parting;
  bool adaptive;

  template <class T>
  void run(const AttentionViews& views) const {
    const auto one = [&](AttentionTile<T>& tile, const TilePlace& place) { tile.attend(place, adaptive); };
    each_tile(
        views.q, [&] { return std::make_unique<AttentionTile<T>>(views, parting(views.keys())); }, one);
  }
};

/// The statistics of each query's scores.
struct FindStatistics {
  template <class T>
  void run(const AttentionStatisticsViews& views) const {
    const auto one = [](StatisticsTile<T>& tile, const TilePlace& place) { tile.find(place); };
    each_tile(
        views.forward.q, [&] { return std::make_unique<StatisticsTile<T>>(views); }, one);
  }
};

/// Attention backward: all queries, then, if the call has dk, all keys.
struct Differentiate {
  bool adaptive;

  template <class T>
  void run(const AttentionGradientViews& views) const {
    CachedQueries<T> kept(views.forward);
    const auto one = [&](auto& tile, const TilePlace& place) { tile.differentiate(place, adaptive); };
    each_tile(
        views.forward.q, [&] { return std::make_unique<QueryGradientTile<T>>(views, kept); }, one);
    if (!views.dk) return;
    each_tile(
        views.forward.k, [&] { return std::make_unique<KeyGradientTile<T>>(views, kept); }, one);
  }
};

template <class Views, class Op>
void run_one(const Views& views, const Op& op) {
  forward_of(views).q.storage == Storage::f64 ? op.template run<double>(views) : op.template run<float>(views);
}

template <class Views, class Op>
int run(const std::optional<Views>& views, const Op& op) try {
  if (!views) return 1;
  run_one(*views, op);
  return 0;
} catch (...) {
  return 1;  // out of memory
}

template <class Views, class Op>
int run(const std::optional<PackedCall<Views>>& packed, const Op& op) try {
  if (!packed || !lengths_fit(*packed)) return 1;
  for (std::int64_t i = 0; i < packed->sequences(); ++i) run_one(sequence_of(*packed, i), op);
  return 0;
} catch (...) {
  return 1;  // out of memory
}

std::int64_t all_keys(std::int64_t keys) { return keys; }

template <Parting parting>
struct AttentionOps {
  static int attention(const softcheck_call* call) { return run(attention_views(call), Attend{parting, false}); }
  static int adaptive_attention(const softcheck_call* call) {
    return run(attention_views(call), Attend{parting, true});
  }
  static int attention_varlen(const softcheck_call* call) { return run(packed_call(call), Attend{parting, false}); }
  static int adaptive_attention_varlen(const softcheck_call* call) {
    return run(packed_call(call, SOFTCHECK_OP_ADAPTIVE_ATTENTION), Attend{parting, true});
  }
};

struct StatisticsOps {
  static int attention_statistics(const softcheck_call* call) {
    return run(attention_statistics_views(call), FindStatistics());
  }
  static int attention_statistics_varlen(const softcheck_call* call) {
    return run(packed_statistics_call(call), FindStatistics());
  }
};

struct BackwardOps {
  static int attention_backward(const softcheck_call* call) {
    return run(attention_gradient_views(call), Differentiate{false});
  }
  static int adaptive_attention_backward(const softcheck_call* call) {
    return run(attention_gradient_views(call), Differentiate{true});
  }
  static int attention_backward_varlen(const softcheck_call* call) {
    return run(packed_gradient_call(call), Differentiate{false});
  }
  static int adaptive_attention_backward_varlen(const softcheck_call* call) {
    return run(packed_gradient_call(call), Differentiate{true});
  }
};

}  // namespace
}  // namespace softcheck::kernels::strict

namespace strict = softcheck::kernels::strict;

SOFTCHECK_ATTENTION_ENTRIES(softcheck_strict_, strict::AttentionOps<strict::all_keys>)
SOFTCHECK_ATTENTION_ENTRIES(softcheck_strict_split_, strict::AttentionOps<softcheck::kernels::keys_of_part>)
SOFTCHECK_STATISTICS_ENTRIES(softcheck_strict_, strict::StatisticsOps)
SOFTCHECK_BACKWARD_ENTRIES(softcheck_strict_, strict::BackwardOps)
