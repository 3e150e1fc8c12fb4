// The attention kernels of kernels/block/ on a GPU, behind the ABI: tensors of a CUDA device, queued on the call's
// stream. Contracts and bits are those of the emulated ones (kernels/emulator/plugin).
#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/block/abi/attention_calls.hpp"
#include "kernels/cuda/block.cuh"
#include "kernels/cuda/device_call.cuh"

#define SOFTCHECK_EXPORT extern "C" __attribute__((visibility("default")))

namespace softcheck::kernels {
namespace {

// At least so many blocks on a multiprocessor: 128 registers a thread. Left to itself ptxas saves some and spills
// others.
constexpr int least_blocks = 4;

using AttentionBlock = CudaBlock<attention_threads>;

template <bool adaptive, class Element, class Result>
__global__ void __launch_bounds__(attention_threads, least_blocks)
    attention_kernel(const AttentionArguments<AttentionBlock, Element, Result> arguments) {
  AttentionBlock block;
  attention_body<adaptive>(block, arguments);
}

struct CudaAttention {
  using Block = AttentionBlock;
  cudaStream_t stream;

  template <bool adaptive, class Element, class Result>
  int run(const AttentionArguments<Block, Element, Result>& arguments) const {
    const std::int64_t queries = arguments.batch * arguments.heads * arguments.queries;
    if (queries == 0) return 0;
    // Blocks take queries in turn: the grid need not hold them all.
    const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(queries, 1 << 20));
    const std::size_t bytes = attention_bytes<Accumulator<Element>>(arguments.dim);
    attention_kernel<adaptive, Element, Result><<<blocks, attention_threads, bytes, stream>>>(arguments);
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
  }
};

template <bool adaptive>
int run_on_device(const softcheck_call* call) {
  const DeviceCall shown(call);
  return shown ? run_attention_call<adaptive>(&shown.call(), CudaAttention{shown.stream()}) : 1;
}

}  // namespace
}  // namespace softcheck::kernels

SOFTCHECK_EXPORT int softcheck_cuda_attention(const softcheck_call* call) {
  return softcheck::kernels::run_on_device<false>(call);
}

SOFTCHECK_EXPORT int softcheck_cuda_adaptive_attention(const softcheck_call* call) {
  return softcheck::kernels::run_on_device<true>(call);
}
