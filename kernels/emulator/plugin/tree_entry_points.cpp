// The tree kernels of kernels/block/tree_rows.hpp on the emulator, through the ABI.
#include <algorithm>

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
    const auto launch = [&]<class Rows>(Rows, int warps, int cluster = 1) {
      // Fewer blocks than rows, so that some take several.
      emulator::launched(
          {std::min<std::int64_t>(arguments.logits.rows, 2) * cluster, warps * warp_size, Rows::shared_bytes, cluster},
          [&](Block& block) { Rows::template run<Op>(block, arguments); }, arguments.logits.columns);
      return 0;
    };
    return with_chosen_layout<Op, Element>(DefaultRows(), default_warps, arguments.logits.columns, nullptr, launch);
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
