#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "kernels/call/packed_views.hpp"
#include "kernels/call/parallel_tasks.hpp"
#include "kernels/cpu/attention/attention_tile.hpp"
#include "kernels/cpu/attention/tile_sizes.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/entry/ops.hpp"

// Attention through the ABI. Contracts are in kernels/entry/contracts.tsv, derived in docs/kernels/attention.md.
// softcheck_attention takes the attributes of version 2 of a call; the others refuse them. A query's bits depend only
// on its row of scores, the values and the mask.

namespace softcheck::kernels::cpu {

/// The statistics of attention's scores for one tile after the other: a pass over the keys, memory as of AttentionTile.
template <class T>
class StatisticsTile {
 public:
  /// views: of the call with the most keys. capacity: rows of the largest tile, whole vectors.
  StatisticsTile(const AttentionStatisticsViews& views, std::size_t capacity)
      : tile_(views.forward, capacity, std::min(capacity, row_part)),
        ones_(capacity, T(1)),
        pass_(views.forward.keys(), capacity, 0, true) {}

  void find(const AttentionStatisticsViews& views, const TilePlace& place) {
    tile_.begin(views.forward, place);
    const TileState<T> state = pass_.run(tile_, nullptr, ones_.get());
    for (std::size_t row = 0; row < place.rows; ++row) {
      // Without a key: -inf, -1, 0, 0.
      std::array values{maximum_of(state, row), sum_minus_one(state, row), static_cast<double>(state.deviations[row]),
                        static_cast<double>(state.squares[row])};
      if (tile_.undefined(row)) {
        values.fill(std::numeric_limits<double>::quiet_NaN());
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        tile_.store(views.statistics[i], row, values[i]);
      }
    }
  }

 private:
  ScoreTile<T> tile_;
  AlignedArray<T> ones_;  // beta of each row
  WeightPass<T> pass_;
};

namespace {

constexpr int done = 0;
constexpr int refused = 1;
constexpr auto most_rows = static_cast<std::int64_t>(tile_rows);

/// Calls one(tile, views, place) for each tile, of at most `rows` rows, of all calls; each thread has its own Tile.
template <class Tile, class Views, class One>
void each_tile(const Calls<Views>& calls, std::int64_t rows, One one) {
  const std::int64_t most = rows_of_tiles(calls, rows);
  const std::size_t capacity = capacity_of(forward_of(calls.largest()), static_cast<std::size_t>(most));
  const auto tiles_of = [&](const AttentionViews& views) { return (rows_of(views) + most - 1) / most; };
  CallTasks tasks;
  for (std::int64_t i = 0; i < calls.count(); ++i) {
    const Views call = calls[i];
    const AttentionViews& views = forward_of(call);
    tasks.add(views.batch() * views.key_heads() * tiles_of(views));
  }
  parallel_tasks(tasks.count(), thread_count(), [&] {
    return [&, tile = std::make_shared<Tile>(calls.largest(), capacity)](std::int64_t task) {
      const auto [index, own] = tasks[task];
      const Views call = calls[index];
      const AttentionViews& views = forward_of(call);
      const std::int64_t first = own % tiles_of(views) * most, head = own / tiles_of(views);
      const auto count = static_cast<std::size_t>(std::min(most, rows_of(views) - first));
      one(*tile, call, TilePlace{head / views.key_heads(), head % views.key_heads(), first, count});
    };
  });
}

/// A call's op: run<T>(calls).
struct Attend {
  bool adaptive;

  template <class T>
  void run(const Calls<AttentionViews>& calls) const {
    const std::int64_t rows = adaptive ? rows_that_keep(calls.largest().keys(), sizeof(T)) : most_rows;
    each_tile<AttentionTile<T>>(calls, rows,
                                [&](AttentionTile<T>& tile, const AttentionViews& views, const TilePlace& place) {
                                  tile.attend(views, place, adaptive);
                                });
  }
};

struct FindStatistics {
  template <class T>
  void run(const Calls<AttentionStatisticsViews>& calls) const {
    each_tile<StatisticsTile<T>>(
        calls, most_rows, [](StatisticsTile<T>& tile, const AttentionStatisticsViews& views, const TilePlace& place) {
          tile.find(views, place);
        });
  }
};

template <class Views, class Op>
int run_calls(const Calls<Views>& calls, const Op& op) {
  if (forward_of(calls.largest()).q.storage == Storage::f64) {
    op.template run<double>(calls);
  } else {
    op.template run<float>(calls);
  }
  return done;
}

template <class Views, class Op>
int run(const std::optional<Views>& views, const Op& op) try {
  return views ? run_calls(Calls(*views), op) : refused;
} catch (...) {
  return refused;  // out of memory
}

template <class Views, class Op>
int run(const std::optional<PackedCall<Views>>& packed, const Op& op) try {
  return packed && lengths_fit(*packed) ? run_calls(Calls(*packed), op) : refused;
} catch (...) {
  return refused;  // out of memory
}

struct AttentionOps {
  static int attention(const softcheck_call* call) { return run(attributed_attention_views(call), Attend{false}); }
  static int adaptive_attention(const softcheck_call* call) { return run(attention_views(call), Attend{true}); }
  static int attention_varlen(const softcheck_call* call) { return run(packed_call(call), Attend{false}); }
  static int adaptive_attention_varlen(const softcheck_call* call) {
    return run(packed_call(call, SOFTCHECK_OP_ADAPTIVE_ATTENTION), Attend{true});
  }
  static int attention_statistics(const softcheck_call* call) {
    return run(attention_statistics_views(call), FindStatistics());
  }
  static int attention_statistics_varlen(const softcheck_call* call) {
    return run(packed_statistics_call(call), FindStatistics());
  }
};

}  // namespace

}  // namespace softcheck::kernels::cpu

SOFTCHECK_ATTENTION_ENTRIES(softcheck_, softcheck::kernels::cpu::AttentionOps)
SOFTCHECK_STATISTICS_ENTRIES(softcheck_, softcheck::kernels::cpu::AttentionOps)
