#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "kernels/block/tree_rows.hpp"

// Which of the compiled kernels computes a tree op's rows, and with how many warps a block. The choice changes no bit,
// only the time. Host code.
namespace softcheck::kernels {

/// Either a row's items stay in registers, or the row is read in parts. Several blocks are of a cluster if held, else
/// of a grid, which reads a row in parts only if it cannot hold it.
struct TreeLayout {
  bool held;
  int warps;
  int blocks = 1;
};

/// What tells devices apart: 90 for sm_90; kHz.
struct TunedDevice {
  int capability, multiprocessors, memory_clock;
};

/// A line of kernels/cuda/tuned/DEVICE.tsv: the fastest layout for rows of first to last columns.
struct TunedLayout {
  TunedDevice device;
  const char *op, *dtype;
  std::int64_t first, last;
  TreeLayout layout;
};

template <class Op>
inline constexpr const char* tree_name = nullptr;
template <>
inline constexpr const char* tree_name<tree::SoftmaxKernel> = "softmax";
template <>
inline constexpr const char* tree_name<tree::LogSoftmaxKernel> = "log_softmax";
template <>
inline constexpr const char* tree_name<tree::LogsumexpKernel> = "logsumexp";
template <>
inline constexpr const char* tree_name<tree::EntropyKernel> = "entropy";
template <>
inline constexpr const char* tree_name<tree::AdaptiveSoftmaxKernel> = "adaptive_softmax";
template <>
inline constexpr const char* tree_name<tree::SoftmaxBackwardKernel> = "softmax_backward";
template <>
inline constexpr const char* tree_name<tree::LogSoftmaxBackwardKernel> = "log_softmax_backward";
template <>
inline constexpr const char* tree_name<tree::CrossEntropyKernel> = "cross_entropy";
template <>
inline constexpr const char* tree_name<tree::CrossEntropyBackwardKernel> = "cross_entropy_backward";

/// The line for these rows of the device in the table that is nearest to this one: by compute capability, then by the
/// number of multiprocessors, then by the memory's clock. Null if that device has none.
inline const TunedLayout* tuned_layout(std::span<const TunedLayout> table, const TunedDevice& device, const char* op,
                                       const char* dtype, std::int64_t columns) {
  const auto distance = [&](const TunedLayout& line) {
    return std::array{std::abs(line.device.capability - device.capability),
                      std::abs(line.device.multiprocessors - device.multiprocessors),
                      std::abs(line.device.memory_clock - device.memory_clock)};
  };
  const auto nearest = std::ranges::min_element(table, {}, distance);
  for (const TunedLayout& line : table) {
    if (distance(line) == distance(*nearest) && std::strcmp(line.op, op) == 0 && std::strcmp(line.dtype, dtype) == 0 &&
        line.first <= columns && columns <= line.last) {
      return &line;
    }
  }
  return nullptr;
}

/// Whether the kernel that holds rows of that many columns by default can run with that layout. A grid takes only rows
/// that no block holds.
template <class Element, int vectors>
bool can_take(WarpRows<vectors>, TreeLayout layout, std::int64_t) {
  return layout.held && layout.blocks == 1 && (layout.warps == 1 || layout.warps == 2 || layout.warps == 4);
}
template <class Element, int vectors>
inline constexpr std::int64_t items_of_warp = vectors* vector_items<Element>* warp_size;
template <class Element, int vectors, bool held>
bool can_take(BlockRows<vectors, held>, TreeLayout layout, std::int64_t columns) {
  const int most = layout.held ? 8 : held ? 1 : most_grid_blocks;
  return layout.blocks <= most && std::has_single_bit(static_cast<unsigned>(layout.blocks)) &&
         (layout.warps == 2 || layout.warps == 4 || layout.warps == 8 || layout.warps == 16) &&
         (!layout.held || columns <= layout.blocks * layout.warps * items_of_warp<Element, vectors>);
}

template <class Element, int vectors, class Take>
int take_layout(WarpRows<vectors> rows, TreeLayout layout, std::int64_t, const Take& take) {
  return take(rows, layout.warps);
}
template <class Element, int vectors, bool held, class Take>
int take_layout(BlockRows<vectors, held>, TreeLayout layout, std::int64_t columns, const Take& take) {
  if (layout.blocks == 1) {
    return layout.held ? take(BlockRows<vectors, true>(), layout.warps)
                       : take(BlockRows<vectors, false>(), layout.warps);
  }
  if (layout.held) return take(ClusterRows<vectors>(), layout.warps, layout.blocks);
  return columns <= layout.blocks * layout.warps * items_of_warp<Element, vectors>
             ? take(GridRows<vectors, true>(), layout.warps, layout.blocks)
             : take(GridRows<vectors, false>(), layout.warps, layout.blocks);
}

/// Returns take(Rows, warps[, blocks that share a row]) for the layout that the environment's SOFTCHECK_TREE_LAYOUT
/// names: held:8 or parts:4 (warps), cluster:2 or grid:64 (blocks of 16 warps) or default; else for the tuned line, and
/// if the device cannot run that or there is none, for the default rows and warps. Refuses a named layout that cannot
/// hold the row.
template <class Element, class Rows, class Take>
int with_chosen_layout(Rows rows, int warps, std::int64_t columns, const TunedLayout* tuned, const Take& take) {
  if (const char* wanted = std::getenv("SOFTCHECK_TREE_LAYOUT"); wanted != nullptr && *wanted != '\0') {
    if (std::strcmp(wanted, "default") == 0) return take(rows, warps);
    char name[8] = "";
    int count = 0;
    if (std::sscanf(wanted, "%7[a-z]:%d", name, &count) != 2) return 1;
    TreeLayout layout{std::strcmp(name, "held") == 0, count};
    if (const bool of_cluster = std::strcmp(name, "cluster") == 0; of_cluster || std::strcmp(name, "grid") == 0) {
      layout = {of_cluster, most_team_warps, count};
      if (count < 2) return 1;
    } else if (!layout.held && std::strcmp(name, "parts") != 0) {
      return 1;
    }
    return can_take<Element>(rows, layout, columns) ? take_layout<Element>(rows, layout, columns, take) : 1;
  }
  if (tuned != nullptr && can_take<Element>(rows, tuned->layout, columns) &&
      take_layout<Element>(rows, tuned->layout, columns, take) == 0) {
    return 0;
  }
  return take(rows, warps);
}

}  // namespace softcheck::kernels
