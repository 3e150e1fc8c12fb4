// The row kernels of kernels/block/ on a GPU, through the ABI: tensors of a CUDA device, queued on the call's stream;
// tensors of the CPU are copied there and back. The bits are those of the emulated and of the strict kernels.
#include <cuda_runtime.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <type_traits>

#include "kernels/block/abi/row_calls.hpp"
#include "kernels/block/abi/tree_layouts.hpp"
#include "kernels/cuda/block.cuh"
#include "kernels/cuda/device_call.cuh"
#include "kernels/cuda/stream_memory.cuh"
#include "kernels/entry/ops.hpp"

namespace softcheck::kernels {
namespace {

// The least number of blocks on a multiprocessor: 128 registers a thread. Without it ptxas uses fewer in some kernels
// and spills in others.
constexpr int least_row_blocks = 4;

template <class Kernel, class Arguments>
__global__ void __launch_bounds__(row_threads, least_row_blocks) row_kernel(const Arguments arguments) {
  CudaBlock<row_threads> block;
  Kernel::run(block, arguments);
}

constexpr int most_threads = most_team_warps * warp_size;

// A thread of a block whose size the launch chooses.
struct TreeBlock : CudaBlock<most_threads> {
  __device__ __forceinline__ int size() const { return static_cast<int>(blockDim.x); }

  __device__ __forceinline__ void signal(const Global<std::uint32_t>& counters, std::int64_t i) {
    asm volatile("red.release.gpu.add.u32 [%0], 1;" ::"l"(counters.data() + i) : "memory");
  }
  __device__ __forceinline__ void wait_for(const Global<std::uint32_t>& counters, std::int64_t i, std::uint32_t count) {
    std::uint32_t counter;
    do {
      asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(counter) : "l"(counters.data() + i) : "memory");
    } while (!has_reached(counter, count));
  }

  // Clusters, which devices before 9.0 lack.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __device__ __forceinline__ int cluster_rank() const { return static_cast<int>(__clusterRelativeBlockRank()); }
  __device__ __forceinline__ int cluster_size() const { return static_cast<int>(__clusterSizeInBlocks()); }
  __device__ __forceinline__ void sync_cluster() {
    __cluster_barrier_arrive();
    __cluster_barrier_wait();
  }
  template <class T>
  __device__ __forceinline__ Shared<T> of_block(const Shared<T>& view, int block) const {
    return {static_cast<T*>(__cluster_map_shared_rank(view.data(), static_cast<unsigned>(block))), view.size()};
  }
#endif
};
static_assert(GridContext<TreeBlock>);

// 64 registers a thread: eight blocks of 128 threads on a multiprocessor, or two of 512. Some of sm_80's code needs
// more.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr int least_blocks = 1;
#else
constexpr int least_blocks = 2;
#endif
template <class Op, int vectors, class Element>
__global__ void __launch_bounds__(128, 8) tree_warp_kernel(const TreeArguments<TreeBlock, Element> arguments) {
  TreeBlock block;
  WarpRows<vectors>::template run<Op>(block, arguments);
}
template <class Op, int vectors, class Element>
__global__ void __launch_bounds__(most_threads, least_blocks)
    tree_block_kernel(const TreeArguments<TreeBlock, Element> arguments) {
  TreeBlock block;
  BlockRows<vectors, true>::template run<Op>(block, arguments);
}
template <class Op, int vectors, class Element>
__global__ void __launch_bounds__(most_threads, least_blocks)
    tree_parts_kernel(const TreeArguments<TreeBlock, Element> arguments) {
  TreeBlock block;
  BlockRows<vectors, false>::template run<Op>(block, arguments);
}

// One block on a multiprocessor.
template <class Op, int vectors, class Element>
__global__ void __launch_bounds__(most_threads, 1)
    tree_cluster_kernel([[maybe_unused]] const TreeArguments<TreeBlock, Element> arguments) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  TreeBlock block;
  ClusterRows<vectors>::template run<Op>(block, arguments);
#endif
}
template <class Op, int vectors, bool held, class Element>
__global__ void __launch_bounds__(most_threads, 1)
    tree_grid_kernel(const TreeArguments<TreeBlock, Element> arguments, const GridMemory<TreeBlock> memory) {
  TreeBlock block;
  GridRows<vectors, held>::template run<Op>(block, arguments, memory);
}

template <class Op, class Element, int vectors>
constexpr auto kernel_of(WarpRows<vectors>) {
  return tree_warp_kernel<Op, vectors, Element>;
}
template <class Op, class Element, int vectors, bool held>
constexpr auto kernel_of(BlockRows<vectors, held>) {
  if constexpr (held) {
    return tree_block_kernel<Op, vectors, Element>;
  } else {
    return tree_parts_kernel<Op, vectors, Element>;
  }
}

template <class Op, class Element, int vectors>
constexpr auto kernel_of(ClusterRows<vectors>) {
  return tree_cluster_kernel<Op, vectors, Element>;
}
template <class Op, class Element, int vectors, bool held>
constexpr auto kernel_of(GridRows<vectors, held>) {
  return tree_grid_kernel<Op, vectors, held, Element>;
}

// From kernels/cuda/tuned/*.tsv; the last line names no op.
constexpr TunedLayout tuned_layouts[] = {
#include "tuned_layouts.inc"
    {{}, "", "", 0, 0, {}}};

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  return cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&value, which, device) == cudaSuccess ? value
                                                                                                               : 0;
}

template <class Op, class Element>
const TunedLayout* tuned_for(std::int64_t columns) {
  constexpr std::span<const TunedLayout> table(tuned_layouts, std::size(tuned_layouts) - 1);
  if (table.empty()) return nullptr;
  constexpr const char* dtype = std::is_same_v<Element, float> ? "f32" : std::is_same_v<Element, Half> ? "f16" : "bf16";
  const int major = attribute(cudaDevAttrComputeCapabilityMajor), minor = attribute(cudaDevAttrComputeCapabilityMinor);
  const TunedDevice device{10 * major + minor, attribute(cudaDevAttrMultiProcessorCount),
                           attribute(cudaDevAttrMemoryClockRate)};
  return tuned_layout(table, device, tree_name<Op>, dtype, columns);
}

// Blocks take rows in turn: a grid need not hold them all.
constexpr std::int64_t most_teams = 1 << 20;

struct CudaLauncher {
  using RowBlock = CudaBlock<row_threads>;
  using TreeBlock = kernels::TreeBlock;
  cudaStream_t stream;

  template <class Kernel, class Arguments>
  int run(const Arguments& arguments) const {
    if (arguments.logits.rows == 0) return 0;
    const auto blocks = static_cast<unsigned>(std::min(arguments.logits.rows, most_teams));
    row_kernel<Kernel><<<blocks, row_threads, row_shared_bytes, stream>>>(arguments);
    return cudaGetLastError() == cudaSuccess ? 0 : 1;
  }

  template <class Op, class DefaultRows, class Element>
  int run(const TreeArguments<TreeBlock, Element>& arguments, int default_warps) const {
    const std::int64_t rows = arguments.logits.rows, columns = arguments.logits.columns;
    if (rows == 0) return 0;
    const auto launch = [&]<class Rows>(Rows, int warps, int blocks = 1) {
      cudaLaunchAttribute attributes{};
      cudaLaunchConfig_t config{};
      config.blockDim = static_cast<unsigned>(warps * warp_size);
      config.dynamicSmemBytes = Rows::shared_bytes;
      config.stream = stream;
      config.attrs = &attributes;
      config.numAttrs = blocks > 1;
      const auto run_teams = [&](std::int64_t teams, const auto&... memory) {
        config.gridDim = static_cast<unsigned>(teams * blocks);
        const auto kernel = kernel_of<Op, Element>(Rows());
        if (cudaLaunchKernelEx(&config, kernel, arguments, memory...) == cudaSuccess) return 0;
        cudaGetLastError();  // clears the error: another layout may follow
        return 1;
      };
      if constexpr (of_grid<Rows>) {
        using Memory = GridMemory<TreeBlock>;
        const std::int64_t teams = std::min<std::int64_t>(rows, attribute(cudaDevAttrMultiProcessorCount) / blocks);
        const StreamMemory<std::uint32_t> counters(teams * Memory::apart, stream);
        const StreamMemory<float> partials(teams * Memory::numbers, stream);
        if (teams == 0 || counters.data == nullptr || partials.data == nullptr ||
            cudaMemsetAsync(counters.data, 0, static_cast<std::size_t>(counters.count) * sizeof(std::uint32_t),
                            stream) != cudaSuccess) {
          return 1;
        }
        attributes.id = cudaLaunchAttributeCooperative;
        attributes.val.cooperative = 1;
        return run_teams(teams, Memory{blocks, counters.view(), partials.view()});
      } else {
        if (blocks > 1 && attribute(cudaDevAttrComputeCapabilityMajor) < 9) return 1;
        attributes.id = cudaLaunchAttributeClusterDimension;
        attributes.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
        const std::int64_t at_once = Rows::rows_at_once(warps);
        return run_teams(std::min((rows + at_once - 1) / at_once, most_teams));
      }
    };
    return with_chosen_layout<Element>(DefaultRows(), default_warps, columns, tuned_for<Op, Element>(columns), launch);
  }
};

struct Device {
  template <class Run>
  static int launched(const softcheck_call* call, Run run) {
    return on_device(call, [&](const DeviceCall& shown) { return run(&shown.call(), CudaLauncher{shown.stream()}); });
  }
};

}  // namespace
}  // namespace softcheck::kernels

SOFTCHECK_ROW_ENTRIES(softcheck_cuda_, softcheck::kernels::RowOps<softcheck::kernels::Device>)
SOFTCHECK_LOSS_ENTRIES(softcheck_cuda_, softcheck::kernels::RowOps<softcheck::kernels::Device>)
