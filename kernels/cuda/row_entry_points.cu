// The row kernels of kernels/block/ on a GPU, through the ABI: tensors of a CUDA device, queued on the call's stream;
// tensors of the CPU are copied there and back. The bits are those of the emulated kernels (kernels/emulator/plugin).
#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/block/abi/row_calls.hpp"
#include "kernels/cuda/block.cuh"
#include "kernels/cuda/device_call.cuh"
#include "kernels/entry/ops.hpp"

namespace softcheck::kernels {
namespace {

// The least number of blocks on a multiprocessor: 128 registers a thread. Without it ptxas uses fewer in some kernels
// and spills in others.
constexpr int least_blocks = 4;

using RowBlock = CudaBlock<row_threads>;

template <class Kernel, class Arguments>
__global__ void __launch_bounds__(row_threads, least_blocks) row_kernel(const Arguments arguments) {
  RowBlock block;
  Kernel::run(block, arguments);
}

template <class Element>
__global__ void __launch_bounds__(row_threads, least_blocks)
    row_backward_kernel(const RowGradientArguments<RowBlock, Element> arguments) {
  RowBlock block;
  adaptive_softmax_backward_body(block, arguments);
}

struct CudaLauncher {
  using Block = RowBlock;
  cudaStream_t stream;

  // Blocks take rows in turn: the grid need not hold them all.
  static unsigned blocks(std::int64_t rows) { return static_cast<unsigned>(std::min<std::int64_t>(rows, 1 << 20)); }

  template <class Element>
  int run_backward(const RowGradientArguments<Block, Element>& arguments) const {
    const std::int64_t rows = arguments.forward.logits.rows;
    if (rows == 0) return 0;
    row_backward_kernel<Element>
        <<<blocks(rows), row_threads, row_backward_bytes<Accumulator<Element>>, stream>>>(arguments);
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
  }

  template <class Kernel, template <class, class, class> class Arguments, class Element, class Result>
  int run(const Arguments<Block, Element, Result>& arguments) const {
    if (arguments.logits.rows == 0) return 0;
    row_kernel<Kernel>
        <<<blocks(arguments.logits.rows), row_threads, row_shared_bytes<Accumulator<Element>>, stream>>>(arguments);
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
  }
};

template <class Kernel>
int run_on_device(const softcheck_call* call) {
  return on_device(
      call, [&](const DeviceCall& shown) { return run_row_call<Kernel>(&shown.call(), CudaLauncher{shown.stream()}); });
}

struct RowOps {
  static int softmax(const softcheck_call* call) { return run_on_device<SoftmaxKernel>(call); }
  static int log_softmax(const softcheck_call* call) { return run_on_device<LogSoftmaxKernel>(call); }
  static int logsumexp(const softcheck_call* call) { return run_on_device<LogsumexpKernel>(call); }
  static int entropy(const softcheck_call* call) { return run_on_device<EntropyKernel>(call); }
  static int adaptive_softmax(const softcheck_call* call) { return run_on_device<AdaptiveSoftmaxKernel>(call); }
  static int varentropy(const softcheck_call* call) { return run_on_device<VarentropyKernel>(call); }
  static int row_statistics(const softcheck_call* call) {
    return on_device(
        call, [](const DeviceCall& shown) { return run_statistics_call(&shown.call(), CudaLauncher{shown.stream()}); });
  }
  static int adaptive_softmax_backward(const softcheck_call* call) {
    return on_device(call, [](const DeviceCall& shown) {
      return run_row_backward_call(&shown.call(), CudaLauncher{shown.stream()});
    });
  }
};

}  // namespace
}  // namespace softcheck::kernels

namespace kernels = softcheck::kernels;

SOFTCHECK_ROW_ENTRIES(softcheck_cuda_, kernels::RowOps)
