// The row kernels of kernels/block/ on the emulator, behind the ABI: what the judge judges of them without a GPU.
//
//   f32, f16, bf16   acc=f32 exp=1ulp sum=lanes:512 masked=nan subnormal=kept
//   f64              acc=f64 exp=2ulp sum=lanes:512 masked=nan subnormal=kept
//   entropy=exact for softcheck_emulated_adaptive_softmax
#include <algorithm>

#include "kernels/block/abi/row_calls.hpp"
#include "kernels/emulator/block.hpp"
#include "kernels/emulator/plugin/launched.hpp"

#define SOFTCHECK_EXPORT extern "C" __attribute__((visibility("default")))

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

}  // namespace
}  // namespace softcheck::kernels

namespace kernels = softcheck::kernels;

SOFTCHECK_EXPORT int softcheck_emulated_softmax(const softcheck_call* call) {
  return kernels::run_row_call<kernels::SoftmaxKernel>(call, kernels::EmulatedLauncher());
}

SOFTCHECK_EXPORT int softcheck_emulated_entropy(const softcheck_call* call) {
  return kernels::run_row_call<kernels::EntropyKernel>(call, kernels::EmulatedLauncher());
}

SOFTCHECK_EXPORT int softcheck_emulated_log_softmax(const softcheck_call* call) {
  return kernels::run_row_call<kernels::LogSoftmaxKernel>(call, kernels::EmulatedLauncher());
}

SOFTCHECK_EXPORT int softcheck_emulated_logsumexp(const softcheck_call* call) {
  return kernels::run_row_call<kernels::LogsumexpKernel>(call, kernels::EmulatedLauncher());
}

SOFTCHECK_EXPORT int softcheck_emulated_adaptive_softmax(const softcheck_call* call) {
  return kernels::run_row_call<kernels::AdaptiveSoftmaxKernel>(call, kernels::EmulatedLauncher());
}

// (logits[, mask]) to (rows), nats squared.
SOFTCHECK_EXPORT int softcheck_emulated_varentropy(const softcheck_call* call) {
  return kernels::run_row_call<kernels::VarentropyKernel>(call, kernels::EmulatedLauncher());
}

// (logits[, mask]) to m, S - 1, T, U, each (rows) and as many as are asked for, all of one format.
SOFTCHECK_EXPORT int softcheck_emulated_row_statistics(const softcheck_call* call) {
  return kernels::run_statistics_call(call, kernels::EmulatedLauncher());
}

// (logits, gradient with respect to the probabilities[, mask]) to the gradient with respect to the logits.
SOFTCHECK_EXPORT int softcheck_emulated_adaptive_softmax_backward(const softcheck_call* call) {
  return kernels::run_row_backward_call(call, kernels::EmulatedLauncher());
}
