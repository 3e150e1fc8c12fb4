// The backward kernels of kernels/block/ on a GPU, through the ABI: tensors of a CUDA device, queued on the call's
// stream; tensors of the CPU are copied there and back. The bits are those of the emulated kernels
// (kernels/emulator/plugin).
#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/cuda/attention_call.cuh"
#include "kernels/cuda/block.cuh"
#include "kernels/entry/ops.hpp"

namespace softcheck::kernels {
namespace {

// As for attention: 128 registers a thread; 168 for doubles, two to a number.
template <class Element>
constexpr int least_blocks = sizeof(Element) == 8 ? 3 : 4;

using BackwardBlock = CudaBlock<attention_threads>;

template <bool adaptive, class Element>
__global__ void __launch_bounds__(attention_threads, least_blocks<Element>)
    query_backward_kernel(const GradientArguments<BackwardBlock, Element> arguments) {
  BackwardBlock block;
  query_backward_body<adaptive>(block, arguments);
}

template <bool adaptive, class Element>
__global__ void __launch_bounds__(attention_threads, least_blocks<Element>)
    key_backward_kernel(const GradientArguments<BackwardBlock, Element> arguments) {
  BackwardBlock block;
  key_backward_body<adaptive>(block, arguments);
}

struct CudaBackward {
  using Block = BackwardBlock;
  cudaStream_t stream;

  // Blocks take queries and keys in turn: the grid need not hold them all.
  static unsigned blocks(std::int64_t items) { return static_cast<unsigned>(std::min<std::int64_t>(items, 1 << 20)); }

  template <bool adaptive, class Element>
  int run_backward(GradientArguments<Block, Element> arguments) const {
    using Kept = QueryGradient<Accumulator<Element>>;
    const AttentionArguments<Block, Element, Element>& from = arguments.forward;
    const std::int64_t queries = from.batch * from.heads * from.queries, keys = from.batch * from.key_heads * from.keys;
    const std::size_t bytes = whole_loads(gradient_bytes<Accumulator<Element>>(from.dim, from.value_dim));
    Kept* kept = nullptr;
    if (queries > 0) {
      if (cudaMallocAsync(&kept, static_cast<std::size_t>(queries) * sizeof(Kept), stream) != cudaSuccess) return 1;
      arguments.queries = CudaView<Kept>(kept, queries);
      query_backward_kernel<adaptive, Element><<<blocks(queries), attention_threads, bytes, stream>>>(arguments);
    }
    if (keys > 0 && arguments.of_keys)
      key_backward_kernel<adaptive, Element><<<blocks(keys), attention_threads, bytes, stream>>>(arguments);
    const bool launched = cudaGetLastError() == cudaSuccess;
    if (kept != nullptr && cudaFreeAsync(kept, stream) != cudaSuccess) return 1;
    return launched ? 0 : 1;
  }
};

}  // namespace
}  // namespace softcheck::kernels

namespace kernels = softcheck::kernels;

SOFTCHECK_BACKWARD_ENTRIES(softcheck_cuda_, kernels::BackwardOps<kernels::CudaBackward>)
