// The row kernels of kernels/block/ on the emulator, through the ABI, so that the judge can judge them without a GPU.
// Contracts are in kernels/entry/contracts.tsv.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/block/abi/row_calls.hpp"
#include "kernels/block/abi/tree_layouts.hpp"
#include "kernels/emulator/block.hpp"
#include "kernels/emulator/plugin/launched.hpp"
#include "kernels/entry/ops.hpp"

namespace softcheck::kernels {
namespace {

struct EmulatedLauncher {
  using RowBlock = emulator::Block;
  using TreeBlock = emulator::Block;

  template <class Kernel, class Arguments>
  int run(const Arguments& arguments) const {
    // Fewer blocks than rows, so that some take several.
    emulator::launched(
        {std::min<std::int64_t>(arguments.logits.rows, 3), row_threads, row_shared_bytes},
        [&](RowBlock& block) { Kernel::run(block, arguments); }, arguments.logits.columns);
    return 0;
  }

  template <class Op, class DefaultRows, class Element>
  int run(const TreeArguments<TreeBlock, Element>& arguments, int default_warps) const {
    const std::int64_t rows = arguments.logits.rows, columns = arguments.logits.columns;
    const auto launch = [&]<class Rows>(Rows, int warps, int blocks = 1) {
      const int threads = warps * warp_size;
      std::int64_t teams = std::min<std::int64_t>(rows, 2);
      if constexpr (of_grid<Rows>) {
        constexpr int most_threads = 1 << 12;  // at once: more take seconds
        teams = std::min<std::int64_t>(teams, most_threads / (blocks * threads));
        if (teams == 0) return rows == 0 ? 0 : 1;
        using Memory = GridMemory<TreeBlock>;
        std::vector<std::uint32_t> counters(static_cast<std::size_t>(teams * Memory::apart));
        std::vector<float> partials(static_cast<std::size_t>(teams * Memory::numbers), emulator::poisoned<float>());
        const Memory memory{blocks, {std::span(counters)}, {std::span(partials)}};
        const std::span<std::byte> traced = std::as_writable_bytes(std::span(partials));
        emulator::launched({teams * blocks, threads, Rows::shared_bytes, 1, true},
                           [&](TreeBlock& block) { Rows::template run<Op>(block, arguments, memory); }, columns,
                           {&traced, 1});
      } else {
        emulator::launched(
            {teams * blocks, threads, Rows::shared_bytes, blocks},
            [&](TreeBlock& block) { Rows::template run<Op>(block, arguments); }, columns);
      }
      return 0;
    };
    return with_chosen_layout<Element>(DefaultRows(), default_warps, columns, nullptr, launch);
  }
};

struct Emulator {
  template <class Run>
  static int launched(const softcheck_call* call, Run run) {
    return run(call, EmulatedLauncher());
  }
};

}  // namespace
}  // namespace softcheck::kernels

SOFTCHECK_ROW_ENTRIES(softcheck_emulated_, softcheck::kernels::RowOps<softcheck::kernels::Emulator>)
SOFTCHECK_LOSS_ENTRIES(softcheck_emulated_, softcheck::kernels::RowOps<softcheck::kernels::Emulator>)
