// The row kernels of kernels/block/ on the emulator, through the ABI, so that the judge can judge them without a GPU.
// Contracts are in kernels/entry/contracts.tsv.
#include <algorithm>

#include "kernels/block/abi/row_calls.hpp"
#include "kernels/emulator/block.hpp"
#include "kernels/emulator/plugin/launched.hpp"
#include "kernels/entry/ops.hpp"

namespace softcheck::kernels {
namespace {

struct EmulatedLauncher {
  using Block = emulator::Block;

  template <class Kernel, template <class, class, class> class Arguments, class Element, class Result>
  int run(const Arguments<Block, Element, Result>& arguments) const {
    emulator::LaunchShape shape;
    // Fewer blocks than rows, so that some take several.
    shape.blocks = std::min<std::int64_t>(arguments.logits.rows, 3);
    shape.threads = row_threads;
    shape.shared_bytes = row_shared_bytes<Accumulator<Element>>;
    emulator::launched(
        shape, [&](Block& block) { Kernel::run(block, arguments); }, arguments.logits.columns);
    return 0;
  }

  template <class Element>
  int run_backward(const RowGradientArguments<Block, Element>& arguments) const {
    const Logits<Block, Element>& logits = arguments.forward.logits;
    emulator::launched(
        {std::min<std::int64_t>(logits.rows, 3), row_threads, row_backward_bytes<Accumulator<Element>>},
        [&](Block& block) { adaptive_softmax_backward_body(block, arguments); }, logits.columns);
    return 0;
  }
};

struct RowOps {
  static int softmax(const softcheck_call* call) { return run_row_call<SoftmaxKernel>(call, EmulatedLauncher()); }
  static int log_softmax(const softcheck_call* call) {
    return run_row_call<LogSoftmaxKernel>(call, EmulatedLauncher());
  }
  static int logsumexp(const softcheck_call* call) { return run_row_call<LogsumexpKernel>(call, EmulatedLauncher()); }
  static int entropy(const softcheck_call* call) { return run_row_call<EntropyKernel>(call, EmulatedLauncher()); }
  static int adaptive_softmax(const softcheck_call* call) {
    return run_row_call<AdaptiveSoftmaxKernel>(call, EmulatedLauncher());
  }
  static int varentropy(const softcheck_call* call) { return run_row_call<VarentropyKernel>(call, EmulatedLauncher()); }
  // All results of one format.
  static int row_statistics(const softcheck_call* call) { return run_statistics_call(call, EmulatedLauncher()); }
  static int adaptive_softmax_backward(const softcheck_call* call) {
    return run_row_backward_call(call, EmulatedLauncher());
  }
};

}  // namespace
}  // namespace softcheck::kernels

SOFTCHECK_ROW_ENTRIES(softcheck_emulated_, softcheck::kernels::RowOps)
