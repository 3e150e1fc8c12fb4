// The tree kernels of kernels/block/tree_rows.hpp on the emulator, through the ABI.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/block/abi/tree_calls.hpp"
#include "kernels/block/abi/tree_layouts.hpp"
#include "kernels/emulator/block.hpp"
#include "kernels/emulator/plugin/launched.hpp"
#include "kernels/entry/tree_ops.hpp"

namespace softcheck::kernels {
namespace {

struct TreeLauncher {
  using Block = emulator::Block;

  template <class Op, class DefaultRows, class Element>
  int run(const TreeArguments<Block, Element>& arguments, int default_warps) const {
    const std::int64_t rows = arguments.logits.rows, columns = arguments.logits.columns;
    const auto launch = [&]<class Rows>(Rows, int warps, int blocks = 1) {
      const int threads = warps * warp_size;
      // Fewer blocks than rows, so that some take several.
      std::int64_t teams = std::min<std::int64_t>(rows, 2);
      if constexpr (of_grid<Rows>) {
        constexpr int most_threads = 1 << 12;  // at once: more take seconds
        teams = std::min<std::int64_t>(teams, most_threads / (blocks * threads));
        if (teams == 0) return rows == 0 ? 0 : 1;
        using Memory = GridMemory<Block>;
        std::vector<std::uint32_t> counters(static_cast<std::size_t>(teams * Memory::apart));
        std::vector<float> partials(static_cast<std::size_t>(teams * Memory::numbers), emulator::poisoned<float>());
        const Memory memory{blocks, {std::span(counters)}, {std::span(partials)}};
        const std::span<std::byte> traced = std::as_writable_bytes(std::span(partials));
        emulator::launched({teams * blocks, threads, Rows::shared_bytes, 1, true},
                           [&](Block& block) { Rows::template run<Op>(block, arguments, memory); }, columns,
                           {&traced, 1});
      } else {
        emulator::launched(
            {teams * blocks, threads, Rows::shared_bytes, blocks},
            [&](Block& block) { Rows::template run<Op>(block, arguments); }, columns);
      }
      return 0;
    };
    return with_chosen_layout<Element>(DefaultRows(), default_warps, columns, nullptr, launch);
  }
};

struct OnEmulator {
  template <class Op>
  static int run(const softcheck_call* call) {
    return run_tree_call<Op>(call, TreeLauncher());
  }
};

}  // namespace
}  // namespace softcheck::kernels

namespace kernels = softcheck::kernels;

SOFTCHECK_TREE_ENTRIES(softcheck_emulated_tree_, kernels::TreeOps<kernels::OnEmulator>)
