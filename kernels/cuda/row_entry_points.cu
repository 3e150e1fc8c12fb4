// The row kernels of kernels/block/ on a GPU, behind the ABI: tensors of a CUDA device, queued on the call's stream.
// Bits and contracts are those of the emulated ones (kernels/emulator/plugin).
#include <cuda_runtime.h>

#include <algorithm>
#include <array>

#include "kernels/block/abi/row_calls.hpp"
#include "kernels/cuda/block.cuh"

#define SOFTCHECK_EXPORT extern "C" __attribute__((visibility("default")))

namespace softcheck::kernels {
namespace {

using RowBlock = CudaBlock<row_threads>;

template <class Kernel, class Element, class Result>
__global__ void __launch_bounds__(row_threads) row_kernel(const RowArguments<RowBlock, Element, Result> arguments) {
  RowBlock block;
  Kernel::run(block, arguments);
}

struct CudaLauncher {
  using Block = RowBlock;
  cudaStream_t stream;

  template <class Kernel, class Element, class Result>
  int run(const RowArguments<Block, Element, Result>& arguments) const {
    if (arguments.logits.rows == 0) return 0;
    // Blocks take rows in turn: the grid need not hold them all.
    const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(arguments.logits.rows, 1 << 20));
    row_kernel<Kernel, Element, Result>
        <<<blocks, row_threads, row_shared_bytes<Accumulator<Element>>, stream>>>(arguments);
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
  }
};

// call_views() knows tensors of the CPU and reads no data: it is shown the same tensors as if they were there.
template <class Kernel>
int run_on_device(const softcheck_call* call, Shape shape) {
  if (call == nullptr || call->abi_version != SOFTCHECK_KERNEL_ABI_VERSION) return 1;
  if (call->n_inputs < 1 || call->n_inputs > 2 || call->n_outputs != 1) return 1;
  std::array<DLTensor, 3> tensors;
  std::array<const DLTensor*, 2> inputs = {&tensors[0], &tensors[1]};
  DLTensor* output = &tensors[2];
  for (std::uint32_t i = 0; i < call->n_inputs; ++i) tensors[i] = *call->inputs[i];
  tensors[2] = *call->outputs[0];
  const auto to_host_view = [](DLTensor& tensor) {
    const bool on_device = tensor.device.device_type == kDLCUDA;
    tensor.device.device_type = kDLCPU;
    return on_device;
  };
  if (!to_host_view(tensors[0]) || !to_host_view(tensors[2])) return 1;
  if (call->n_inputs == 2 && !to_host_view(tensors[1])) return 1;
  softcheck_call shown = *call;
  shown.inputs = inputs.data();
  shown.outputs = &output;
  return run_row_call<Kernel>(&shown, shape, CudaLauncher{static_cast<cudaStream_t>(call->stream)});
}

}  // namespace
}  // namespace softcheck::kernels

namespace kernels = softcheck::kernels;

SOFTCHECK_EXPORT int softcheck_cuda_softmax(const softcheck_call* call) {
  return kernels::run_on_device<kernels::SoftmaxKernel>(call, kernels::Shape::elements);
}

SOFTCHECK_EXPORT int softcheck_cuda_entropy(const softcheck_call* call) {
  return kernels::run_on_device<kernels::EntropyKernel>(call, kernels::Shape::rows);
}

SOFTCHECK_EXPORT int softcheck_cuda_adaptive_softmax(const softcheck_call* call) {
  if (call == nullptr || call->abi_version != SOFTCHECK_KERNEL_ABI_VERSION || call->theta != 1) return 1;
  return kernels::run_on_device<kernels::AdaptiveSoftmaxKernel>(call, kernels::Shape::elements);
}
