// Attention for few queries and many keys on a GPU, through the ABI: tensors of a CUDA device, queued on the call's
// stream; tensors of the CPU are copied there and back. The bits are those of the emulated kernel
// (kernels/emulator/plugin).
#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/block/split_attention.hpp"
#include "kernels/cuda/attention_call.cuh"
#include "kernels/cuda/block.cuh"
#include "kernels/cuda/stream_memory.cuh"
#include "kernels/entry/ops.hpp"

namespace softcheck::kernels {
namespace {

// As for attention: 128 registers a thread.
constexpr int least_blocks = 4;

using SplitBlock = CudaBlock<attention_threads>;

template <class Element, class Result>
__global__ void __launch_bounds__(attention_threads, least_blocks)
    part_statistics_kernel(const SplitArguments<SplitBlock, Element, Result> arguments) {
  SplitBlock block;
  part_statistics_body(block, arguments);
}

template <bool adaptive, class Element, class Result>
__global__ void __launch_bounds__(attention_threads, least_blocks)
    part_attention_kernel(const SplitArguments<SplitBlock, Element, Result> arguments) {
  SplitBlock block;
  part_attention_body<adaptive>(block, arguments);
}

template <bool adaptive, class Element, class Result>
__global__ void __launch_bounds__(attention_threads, least_blocks)
    merge_parts_kernel(const SplitArguments<SplitBlock, Element, Result> arguments) {
  SplitBlock block;
  merge_parts_body<adaptive>(block, arguments);
}

struct CudaSplitAttention {
  using Block = SplitBlock;
  cudaStream_t stream;

  // Blocks take queries and parts in turn: the grid need not hold them all.
  static unsigned blocks(std::int64_t items) { return static_cast<unsigned>(std::min<std::int64_t>(items, 1 << 20)); }

  // Refuses lse and entropy in any format but the accumulator's: half the kernels to compile.
  template <bool adaptive, class Element, class Result>
  int run(const AttentionArguments<Block, Element, Result>& forward) const {
    if constexpr (std::is_same_v<Result, Accumulator<Element>>) {
      return run_wide<adaptive>(forward);
    } else {
      return 1;
    }
  }

  template <bool adaptive, class Element, class Result>
  int run_wide(const AttentionArguments<Block, Element, Result>& forward) const {
    using T = Accumulator<Element>;
    const std::int64_t queries = forward.batch * forward.heads * forward.queries;
    if (queries == 0) return 0;
    const std::int64_t items = queries * allocated_parts(forward);
    const StreamMemory<RowStatistics<T>> statistics(adaptive ? items : 0, stream);
    const StreamMemory<PartState<T>> states(items, stream);
    const StreamMemory<CompensatedSum<T>> columns(items * forward.value_dim, stream);
    if (statistics.data == nullptr || states.data == nullptr || columns.data == nullptr) return 1;
    const SplitArguments<Block, Element, Result> arguments{forward, statistics.view(), states.view(), columns.view()};
    const std::size_t bytes = whole_loads(attention_bytes<T>(forward.dim));
    if (items > 0) {
      if constexpr (adaptive) {
        part_statistics_kernel<Element, Result><<<blocks(items), attention_threads, bytes, stream>>>(arguments);
      }
      part_attention_kernel<adaptive, Element, Result><<<blocks(items), attention_threads, bytes, stream>>>(arguments);
    }
    merge_parts_kernel<adaptive, Element, Result><<<blocks(queries), attention_threads, bytes, stream>>>(arguments);
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
  }
};

}  // namespace
}  // namespace softcheck::kernels

namespace kernels = softcheck::kernels;

SOFTCHECK_ATTENTION_ENTRIES(softcheck_cuda_split_, kernels::AttentionOps<kernels::CudaSplitAttention>)
