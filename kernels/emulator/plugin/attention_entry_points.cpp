// The attention kernels of kernels/block/ on the emulator, through the ABI. Contracts are in
// kernels/entry/contracts.tsv. The emulator adds the products of tensor cores exactly
// (kernels/emulator/warp_operation.hpp).
#include <algorithm>
#include <span>
#include <vector>

#include "kernels/block/abi/attention_calls.hpp"
#include "kernels/block/mma_statistics.hpp"
#include "kernels/block/split_attention.hpp"
#include "kernels/emulator/block.hpp"
#include "kernels/emulator/plugin/launched.hpp"
#include "kernels/entry/ops.hpp"

namespace softcheck::kernels {
namespace {

struct EmulatedAttention {
  using Block = emulator::Block;

  template <bool adaptive, class Element, class Result>
  int run(const AttentionArguments<Block, Element, Result>& arguments) const {
    emulator::LaunchShape shape;
    // Fewer blocks than queries, so that some take several.
    shape.blocks = std::min<std::int64_t>(arguments.batch * arguments.heads * arguments.queries, 3);
    shape.threads = attention_threads;
    shape.shared_bytes = attention_bytes<Accumulator<Element>>(arguments.dim);
    emulator::launched(
        shape, [&](Block& block) { attention_body<adaptive>(block, arguments); }, arguments.keys);
    return 0;
  }
};

struct EmulatedSplitAttention {
  using Block = emulator::Block;

  template <bool adaptive, class Element, class Result>
  int run(const AttentionArguments<Block, Element, Result>& forward) const {
    using T = Accumulator<Element>;
    SplitArguments<Block, Element, Result> arguments;
    arguments.forward = forward;
    const std::int64_t queries = arguments.queries(), items = queries * arguments.parts();
    std::vector<RowStatistics<T>> statistics(static_cast<std::size_t>(items));
    std::vector<PartState<T>> states(static_cast<std::size_t>(items));
    std::vector<CompensatedSum<T>> columns(static_cast<std::size_t>(items * forward.value_dim));
    arguments.statistics = std::span(statistics);
    arguments.states = std::span(states);
    arguments.columns = std::span(columns);
    const auto launch = [&](std::int64_t most, const emulator::Kernel& kernel) {
      const emulator::LaunchShape shape{std::min<std::int64_t>(most, 3), attention_threads,
                                        attention_bytes<T>(forward.dim)};
      emulator::launched(shape, kernel, forward.keys);
    };
    if constexpr (adaptive) launch(items, [&](Block& block) { part_statistics_body(block, arguments); });
    launch(items, [&](Block& block) { part_attention_body<adaptive>(block, arguments); });
    launch(queries, [&](Block& block) { merge_parts_body<adaptive>(block, arguments); });
    return 0;
  }
};

struct EmulatedBackward {
  using Block = emulator::Block;

  template <bool adaptive, class Element>
  int run_backward(GradientArguments<Block, Element> arguments) const {
    const AttentionArguments<Block, Element, Element>& from = arguments.forward;
    const std::int64_t queries = from.batch * from.heads * from.queries, keys = from.batch * from.key_heads * from.keys;
    std::vector<QueryGradient<Accumulator<Element>>> kept(static_cast<std::size_t>(queries));
    arguments.queries = std::span(kept);
    const std::size_t bytes = gradient_bytes<Accumulator<Element>>(from.dim, from.value_dim);
    emulator::launched(
        {std::min<std::int64_t>(queries, 3), attention_threads, bytes},
        [&](Block& block) { query_backward_body<adaptive>(block, arguments); }, from.keys);
    if (!arguments.of_keys) return 0;
    emulator::launched(
        {std::min<std::int64_t>(keys, 3), attention_threads, bytes},
        [&](Block& block) { key_backward_body<adaptive>(block, arguments); }, from.keys);
    return 0;
  }
};

struct EmulatedStatistics {
  using Block = emulator::Block;

  template <class Element, class Result>
  int run_statistics(const AttentionStatisticsArguments<Block, Element, Result>& arguments) const {
    const AttentionArguments<Block, Element, Result>& from = arguments.forward;
    emulator::launched(
        {std::min<std::int64_t>(from.batch * from.heads * from.queries, 3), attention_threads,
         attention_statistics_bytes<Accumulator<Element>>(from.dim)},
        [&](Block& block) { attention_statistics_body(block, arguments); }, from.keys);
    return 0;
  }
};

struct EmulatedMmaAttention {
  using Block = emulator::Block;

  template <bool adaptive, class Element, class Result>
  int run(const AttentionArguments<Block, Element, Result>& arguments) const {
    return with_mma_width(arguments, [&]<int width>(std::integral_constant<int, width>) {
      launch_tiles(arguments, mma_bytes<width, Element>,
                   [&](Block& block) { mma_attention_body<adaptive, width>(block, arguments); });
      return 0;
    });
  }

  template <class Element, class Result>
  int run_statistics(const AttentionStatisticsArguments<Block, Element, Result>& arguments) const {
    return with_mma_width(arguments.forward, [&]<int width>(std::integral_constant<int, width>) {
      launch_tiles(arguments.forward, mma_statistics_bytes<width, Element>,
                   [&](Block& block) { mma_statistics_body<width>(block, arguments); });
      return 0;
    });
  }

 private:
  template <class Arguments>
  static void launch_tiles(const Arguments& of, std::size_t shared_bytes, const emulator::Kernel& kernel) {
    const std::int64_t tiles = of.batch * of.heads * tiles_of_head(of);
    emulator::launched({std::min<std::int64_t>(tiles, 3), mma_threads, shared_bytes}, kernel, of.keys);
  }
};

template <class Launcher>
struct AttentionOps {
  static int attention(const softcheck_call* call) { return run_attention_call<false>(call, Launcher()); }
  static int adaptive_attention(const softcheck_call* call) { return run_attention_call<true>(call, Launcher()); }
  static int attention_varlen(const softcheck_call* call) {
    return run_packed_attention_call<false>(call, call, Launcher());
  }
  static int adaptive_attention_varlen(const softcheck_call* call) {
    return run_packed_attention_call<true>(call, call, Launcher());
  }
};

template <class Launcher>
struct StatisticsOps {
  static int attention_statistics(const softcheck_call* call) {
    return run_attention_statistics_call(call, Launcher());
  }
  static int attention_statistics_varlen(const softcheck_call* call) {
    return run_packed_statistics_call(call, call, Launcher());
  }
};

struct BackwardOps {
  static int attention_backward(const softcheck_call* call) {
    return run_backward_call<false>(call, EmulatedBackward());
  }
  static int adaptive_attention_backward(const softcheck_call* call) {
    return run_backward_call<true>(call, EmulatedBackward());
  }
  static int attention_backward_varlen(const softcheck_call* call) {
    return run_packed_backward_call<false>(call, call, EmulatedBackward());
  }
  static int adaptive_attention_backward_varlen(const softcheck_call* call) {
    return run_packed_backward_call<true>(call, call, EmulatedBackward());
  }
};

}  // namespace
}  // namespace softcheck::kernels

namespace kernels = softcheck::kernels;

SOFTCHECK_ATTENTION_ENTRIES(softcheck_emulated_, kernels::AttentionOps<kernels::EmulatedAttention>)
SOFTCHECK_ATTENTION_ENTRIES(softcheck_emulated_mma_, kernels::AttentionOps<kernels::EmulatedMmaAttention>)
SOFTCHECK_ATTENTION_ENTRIES(softcheck_emulated_split_, kernels::AttentionOps<kernels::EmulatedSplitAttention>)
SOFTCHECK_STATISTICS_ENTRIES(softcheck_emulated_, kernels::StatisticsOps<kernels::EmulatedStatistics>)
SOFTCHECK_STATISTICS_ENTRIES(softcheck_emulated_mma_, kernels::StatisticsOps<kernels::EmulatedMmaAttention>)
SOFTCHECK_BACKWARD_ENTRIES(softcheck_emulated_, kernels::BackwardOps)
