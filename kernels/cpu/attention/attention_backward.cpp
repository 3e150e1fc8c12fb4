#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/call/packed_views.hpp"
#include "kernels/call/parallel_tasks.hpp"
#include "kernels/cpu/attention/key_gradient.hpp"
#include "kernels/cpu/attention/query_gradient.hpp"
#include "kernels/cpu/attention/tile_sizes.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/entry/ops.hpp"

// The gradient of attention through the ABI: from (q, k, v, dL/dout[, mask]), in version 2 also from the forward pass's
// out and lse, and dL/dlse if the call has it, to dL/dq, dL/dk, dL/dv, or the first of these, in the inputs' format.
// docs/tolerances/attention_backward.md derives its errors under the contract (kernels/entry/contracts.tsv), and
// docs/tolerances/attention_gradient.md those without out and lse.
//
// Deterministic: the same bits on every number of threads and in every batch. docs/kernels/attention.md has the
// algorithm: one pass over tiles of queries for all three gradients, or two if that would take much memory.

namespace softcheck::kernels::cpu {

/// Tasks that go through the same steps one after the other. Threads take tasks in order, and a task waits only for
/// earlier ones: the first never waits, so there is no deadlock.
class TaskTurns {
 public:
  static constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();

  explicit TaskTurns(std::int64_t tasks) : made_(static_cast<std::size_t>(tasks)) {}

  /// Waits until the task has made this many steps.
  void await(std::int64_t task, std::int64_t steps) {
    std::atomic<std::int64_t>& made = made_[static_cast<std::size_t>(task)];
    for (std::int64_t seen = made.load(std::memory_order_acquire); seen < steps;
         seen = made.load(std::memory_order_acquire)) {
      made.wait(seen, std::memory_order_acquire);
    }
  }
  void make(std::int64_t task, std::int64_t steps) {
    made_[static_cast<std::size_t>(task)].store(steps, std::memory_order_release);
    made_[static_cast<std::size_t>(task)].notify_all();
  }
  void end(std::int64_t task) { make(task, all); }

 private:
  std::vector<std::atomic<std::int64_t>> made_;
};

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

/// All three gradients, tile of queries by tile. dk and dv of a key head are sums; its tiles add to them one after the
/// other, block of keys by block. At most as many key heads as threads have sums at the same time.
template <class T>
class OnePass {
 public:
  OnePass(const GradientCalls& calls, std::int64_t most, unsigned threads) : calls_(calls), most_(most) {
    std::int64_t heads = 0;
    for (std::int64_t i = 0; i < calls.count(); ++i) {
      const AttentionViews views = calls[i].forward;
      first_heads_.push_back(heads);
      heads += views.batch() * views.key_heads();
      tasks_.add(views.batch() * views.key_heads() * tiles_of(views));
    }
    tiles_.emplace(tasks_.count());
    heads_.emplace(heads);
    const AttentionViews& largest = calls.largest().forward;
    for (std::int64_t i = std::min<std::int64_t>(heads, threads); i > 0; --i) {
      sums_.push_back(std::make_unique<KeyGradientSums<T>>(largest, static_cast<std::size_t>(tiles_of(largest))));
    }
  }

  std::int64_t tasks() const { return tasks_.count(); }

  /// terms: (most)
  void run(std::int64_t task, bool adaptive, QueryGradient<T>& gradient, GradientTerms<T>* terms) {
    const auto [call, own] = tasks_[task];
    const AttentionGradientViews views = calls_[call];
    const AttentionViews& forward = views.forward;
    const std::int64_t tiles = tiles_of(forward), tile = own % tiles, head = own / tiles;
    const std::int64_t first = tile * most_, rows = std::min(most_, rows_of(forward) - first);
    const TilePlace place{head / forward.key_heads(), head % forward.key_heads(), first,
                          static_cast<std::size_t>(rows)};
    const Turn turn{task, first_heads_[static_cast<std::size_t>(call)] + head, tile};
    const Ends ends(*tiles_, *heads_, turn, tile + 1 == tiles);
    bool begun = false;
    if (rows > 0) {
      gradient.run(views, place, adaptive, terms, [&](const KeySpan& keys) {
        const std::int64_t step = keys.begin / static_cast<std::int64_t>(key_block) + 1;
        begin(turn, step, std::exchange(begun, true));
        gradient.add_to(sums_of(turn), keys, static_cast<std::size_t>(tile));
        tiles_->make(task, step);
      });
    }
    begin(turn, TaskTurns::all, begun);
    if (tile + 1 == tiles) {
      write(views, place, sums_of(turn));
    }
  }

 private:
  struct Turn {
    std::int64_t task, head, tile;  // head: of all calls
  };
  /// Ends a task even if an exception leaves it: if memory runs out, the tasks after it must not wait.
  struct Ends {
    TaskTurns& tiles;
    TaskTurns& heads;
    const Turn& turn;
    bool last;  // of its key head

    Ends(TaskTurns& tiles_of, TaskTurns& heads_of, const Turn& of, bool is_last)
        : tiles(tiles_of), heads(heads_of), turn(of), last(is_last) {}
    Ends(const Ends&) = delete;
    Ends& operator=(const Ends&) = delete;
    ~Ends() {
      if (last) {
        heads.end(turn.head);
      }
      tiles.end(turn.task);
    }
  };

  std::int64_t tiles_of(const AttentionViews& views) const {
    return std::max<std::int64_t>((rows_of(views) + most_ - 1) / most_, 1);
  }
  std::int64_t slots() const { return static_cast<std::int64_t>(sums_.size()); }
  KeyGradientSums<T>& sums_of(const Turn& turn) { return *sums_[static_cast<std::size_t>(turn.head % slots())]; }

  /// Waits until the previous tile has made this many steps. A first tile waits until the sums are free and takes them.
  void begin(const Turn& turn, std::int64_t steps, bool begun) {
    if (turn.tile > 0) {
      tiles_->await(turn.task - 1, steps);
    } else if (!begun) {
      if (turn.head >= slots()) {
        heads_->await(turn.head - slots(), TaskTurns::all);
      }
      sums_of(turn).clear();
    }
  }

  static void write(const AttentionGradientViews& views, const TilePlace& place, KeyGradientSums<T>& sums) {
    const std::int64_t keys = views.forward.keys();
    for (std::int64_t begin = 0; begin < keys; begin += static_cast<std::int64_t>(key_block)) {
      const KeySpan span{begin, static_cast<std::size_t>(std::min<std::int64_t>(key_block, keys - begin))};
      const std::size_t block = static_cast<std::size_t>(begin) / key_block;
      write_keys(views.dk, place.batch, place.key_head, span, sums.dk.total(block), sums.dk.width(),
                 static_cast<T>(views.forward.scale));
      if (views.dv) {
        write_keys(views.dv, place.batch, place.key_head, span, sums.dv.total(block), sums.dv.width(), T(1));
      }
    }
  }

  const GradientCalls& calls_;
  std::int64_t most_;  // rows of a tile
  CallTasks tasks_;
  std::vector<std::int64_t> first_heads_;  // of each call
  std::optional<TaskTurns> tiles_, heads_;
  std::vector<std::unique_ptr<KeyGradientSums<T>>> sums_;
};

/// dq, and the terms of all queries; then dk and dv, from scores that are computed again.
template <class T>
void differentiate_in_two_passes(const GradientCalls& calls, bool adaptive, std::int64_t most, std::size_t capacity) {
  const auto block = static_cast<std::int64_t>(key_block);
  CallTerms<T> terms(calls);
  parallel_heads(calls, rows_of, most, [&] {
    return [&, gradient = std::make_shared<QueryGradient<T>>(calls.largest(), capacity, false)](
               const HeadPart& part, const AttentionGradientViews& views) {
      const auto rows = static_cast<std::size_t>(std::min(most, rows_of(views.forward) - part.first));
      gradient->run(views, {part.batch, part.key_head, part.first, rows}, adaptive,
                    terms.of(part, views.forward) + part.first, [](const KeySpan&) {});
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

/// Both ways have the same bits.
template <class T>
void differentiate(const GradientCalls& calls, bool adaptive) {
  const AttentionGradientViews& largest = calls.largest();
  const std::int64_t most = rows_of_gradient(largest.forward.keys(), sizeof(T), rows_of_tiles(calls, tile_rows));
  const std::size_t capacity = capacity_of(largest.forward, static_cast<std::size_t>(most));
  const auto tiles = static_cast<std::size_t>((rows_of(largest.forward) + most - 1) / most);
  if (!largest.dk || KeyGradientSums<T>::numbers(largest.forward, tiles) * sizeof(T) > key_sums_bytes) {
    differentiate_in_two_passes<T>(calls, adaptive, most, capacity);
    return;
  }
  OnePass<T> pass(calls, most, thread_count());
  parallel_tasks(pass.tasks(), thread_count(), [&] {
    return [&, gradient = std::make_shared<QueryGradient<T>>(largest, capacity, true),
            terms = std::make_shared<std::vector<GradientTerms<T>>>(static_cast<std::size_t>(most))](
               std::int64_t task) { pass.run(task, adaptive, *gradient, terms->data()); };
  });
}

void differentiate_any(const GradientCalls& calls, bool adaptive) {
  if (calls.largest().dq.storage == Storage::f64) {
    differentiate<double>(calls, adaptive);
  } else {
    differentiate<float>(calls, adaptive);
  }
}

enum class Saved { read, left };

int run(const softcheck_call* call, bool adaptive, Saved saved) try {
  std::optional<AttentionGradientViews> views = attention_gradient_views(call);
  if (!views || (adaptive && views->by_lse)) {
    return refused;
  }
  if (saved == Saved::left) {
    views->saved_out.reset();
    views->saved_lse.reset();
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
  static int attention_backward(const softcheck_call* call) { return run(call, false, Saved::read); }
  static int attention_backward_recomputed(const softcheck_call* call) { return run(call, false, Saved::left); }
  static int adaptive_attention_backward(const softcheck_call* call) { return run(call, true, Saved::read); }
  static int attention_backward_varlen(const softcheck_call* call) { return run_packed(call, false); }
  static int adaptive_attention_backward_varlen(const softcheck_call* call) { return run_packed(call, true); }
};

}  // namespace

}  // namespace softcheck::kernels::cpu

SOFTCHECK_BACKWARD_ENTRIES(softcheck_, softcheck::kernels::cpu::BackwardOps)
// A call of version 1 has no out and no lse; this takes those that have them, as the judge's, the same way.
SOFTCHECK_ENTRY(softcheck_, attention_backward_recomputed, softcheck::kernels::cpu::BackwardOps)
