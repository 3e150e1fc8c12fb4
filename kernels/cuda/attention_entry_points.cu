// The attention kernels of kernels/block/ on a GPU, through the ABI: tensors of a CUDA device, queued on the call's
// stream; tensors of the CPU are copied there and back. The bits are those of the emulated kernels
// (kernels/emulator/plugin).
#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/block/mma_statistics.hpp"
#include "kernels/cuda/attention_call.cuh"
#include "kernels/cuda/block.cuh"
#include "kernels/entry/ops.hpp"

namespace softcheck::kernels {
namespace {

// The least number of blocks on a multiprocessor: 128 registers a thread. Without it ptxas uses fewer in some kernels
// and spills in others.
constexpr int least_blocks = 4;

// For tensor cores: 168 registers per thread for heads of 64; for heads of 128, the largest number.
template <int width>
constexpr int least_mma_blocks = width == 64 ? 3 : 2;

using AttentionBlock = CudaBlock<attention_threads>;

template <bool adaptive, class Element, class Result>
__global__ void __launch_bounds__(attention_threads, least_blocks)
    attention_kernel(const AttentionArguments<AttentionBlock, Element, Result> arguments) {
  AttentionBlock block;
  attention_body<adaptive>(block, arguments);
}

template <class Element, class Result>
__global__ void __launch_bounds__(attention_threads, least_blocks)
    attention_statistics_kernel(const AttentionStatisticsArguments<AttentionBlock, Element, Result> arguments) {
  AttentionBlock block;
  attention_statistics_body(block, arguments);
}

template <bool adaptive, int width, class Element, class Result>
__global__ void __launch_bounds__(mma_threads, least_mma_blocks<width>)
    mma_attention_kernel(const AttentionArguments<CudaBlock<mma_threads>, Element, Result> arguments) {
  CudaBlock<mma_threads> block;
  mma_attention_body<adaptive, width>(block, arguments);
}

template <int width, class Element, class Result>
__global__ void __launch_bounds__(mma_threads, least_blocks)
    mma_statistics_kernel(const AttentionStatisticsArguments<CudaBlock<mma_threads>, Element, Result> arguments) {
  CudaBlock<mma_threads> block;
  mma_statistics_body<width>(block, arguments);
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
    const std::size_t bytes = whole_loads(attention_bytes<Accumulator<Element>>(arguments.dim));
    attention_kernel<adaptive, Element, Result><<<blocks, attention_threads, bytes, stream>>>(arguments);
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
  }
};

struct CudaStatistics {
  using Block = AttentionBlock;
  cudaStream_t stream;

  template <class Element, class Result>
  int run_statistics(const AttentionStatisticsArguments<Block, Element, Result>& arguments) const {
    const AttentionArguments<Block, Element, Result>& from = arguments.forward;
    const std::int64_t queries = from.batch * from.heads * from.queries;
    if (queries == 0) return 0;
    const auto blocks = static_cast<unsigned>(std::min<std::int64_t>(queries, 1 << 20));
    const std::size_t bytes = whole_loads(attention_statistics_bytes<Accumulator<Element>>(from.dim));
    attention_statistics_kernel<Element, Result><<<blocks, attention_threads, bytes, stream>>>(arguments);
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
  }
};

struct CudaMmaAttention {
  using Block = CudaBlock<mma_threads>;
  cudaStream_t stream;

  template <bool adaptive, class Element, class Result>
  int run(const AttentionArguments<Block, Element, Result>& arguments) const {
    return with_mma_width(arguments, [&]<int width>(std::integral_constant<int, width>) {
      const unsigned blocks = blocks_of(arguments);
      if (blocks == 0) return 0;
      mma_attention_kernel<adaptive, width><<<blocks, mma_threads, mma_bytes<width, Element>, stream>>>(arguments);
      return cudaGetLastError() == cudaSuccess ? 0 : 1;
    });
  }

  template <class Element, class Result>
  int run_statistics(const AttentionStatisticsArguments<Block, Element, Result>& arguments) const {
    return with_mma_width(arguments.forward, [&]<int width>(std::integral_constant<int, width>) {
      const unsigned blocks = blocks_of(arguments.forward);
      if (blocks == 0) return 0;
      mma_statistics_kernel<width><<<blocks, mma_threads, mma_statistics_bytes<width, Element>, stream>>>(arguments);
      return cudaGetLastError() == cudaSuccess ? 0 : 1;
    });
  }

 private:
  // Blocks take tiles in turn: the grid need not hold them all.
  template <class Arguments>
  static unsigned blocks_of(const Arguments& of) {
    return static_cast<unsigned>(std::min<std::int64_t>(of.batch * of.heads * tiles_of_head(of), 1 << 20));
  }
};

}  // namespace
}  // namespace softcheck::kernels

namespace kernels = softcheck::kernels;

SOFTCHECK_ATTENTION_ENTRIES(softcheck_cuda_, kernels::AttentionOps<kernels::CudaAttention>)
SOFTCHECK_ATTENTION_ENTRIES(softcheck_cuda_mma_, kernels::AttentionOps<kernels::CudaMmaAttention>)
SOFTCHECK_STATISTICS_ENTRIES(softcheck_cuda_, kernels::StatisticsOps<kernels::CudaStatistics>)
SOFTCHECK_STATISTICS_ENTRIES(softcheck_cuda_mma_, kernels::StatisticsOps<kernels::CudaMmaAttention>)
