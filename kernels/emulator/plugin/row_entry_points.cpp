// The row kernels of kernels/block/ on the emulator, behind the ABI: what the judge judges of them without a GPU.
//
//   f32, f16, bf16   acc=f32 exp=1ulp sum=lanes:512 masked=nan subnormal=kept
//   f64              acc=f64 exp=2ulp sum=lanes:512 masked=nan subnormal=kept
//   entropy=exact for softcheck_emulated_adaptive_softmax
//
// A finding of the emulator is printed and ends the process: the judge calls that a crash.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "kernels/block/abi/row_calls.hpp"
#include "kernels/emulator/block.hpp"

#define SOFTCHECK_EXPORT extern "C" __attribute__((visibility("default")))

namespace softcheck::kernels {
namespace {

struct EmulatedLauncher {
  using Block = emulator::Block;

  template <class Kernel, class Element, class Result>
  int run(const RowArguments<Block, Element, Result>& arguments) const {
    emulator::LaunchShape shape;
    // Fewer blocks than rows, so that some take several.
    shape.blocks = std::min<std::int64_t>(arguments.logits.rows, 3);
    shape.threads = row_threads;
    shape.shared_bytes = row_shared_bytes<Accumulator<Element>>;
    // By the width: a sweep of widths meets every schedule, and a call has the same bits each time.
    const auto schedule = emulator::schedules[arguments.logits.columns % std::size(emulator::schedules)];
    const emulator::LaunchReport report =
        emulator::launch(shape, [&](Block& block) { Kernel::run(block, arguments); }, {schedule, 1});
    if (!report.clean()) {
      std::fputs(report.text().c_str(), stderr);
      std::abort();
    }
    return 0;
  }
};

}  // namespace
}  // namespace softcheck::kernels

namespace kernels = softcheck::kernels;

SOFTCHECK_EXPORT int softcheck_emulated_softmax(const softcheck_call* call) {
  return kernels::run_row_call<kernels::SoftmaxKernel>(call, kernels::Shape::elements, kernels::EmulatedLauncher());
}

SOFTCHECK_EXPORT int softcheck_emulated_entropy(const softcheck_call* call) {
  return kernels::run_row_call<kernels::EntropyKernel>(call, kernels::Shape::rows, kernels::EmulatedLauncher());
}

SOFTCHECK_EXPORT int softcheck_emulated_adaptive_softmax(const softcheck_call* call) {
  if (call == nullptr || call->abi_version != SOFTCHECK_KERNEL_ABI_VERSION || call->theta != 1) return 1;
  return kernels::run_row_call<kernels::AdaptiveSoftmaxKernel>(call, kernels::Shape::elements,
                                                               kernels::EmulatedLauncher());
}
