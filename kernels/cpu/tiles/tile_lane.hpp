#pragma once

#include <cstddef>
#include <cstdint>

// bf16 attention by tiles of 16 by 16 numbers: the parts that depend on the instruction set. Scores have keys as rows
// and queries as columns, so that a vector of 16 lanes holds one key's scores of 16 queries.
namespace softcheck::kernels::cpu {

inline constexpr std::size_t tile_lanes = 16;  // queries of a group
inline constexpr std::size_t unit_groups = 2;  // groups that take a block together
inline constexpr std::size_t unit_rows = unit_groups * tile_lanes;
inline constexpr std::size_t tile_depth = 32;                         // products that one instruction adds to a number
inline constexpr std::size_t tile_keys = 128;                         // keys of a block
inline constexpr std::size_t tile_numbers = tile_lanes * tile_depth;  // bf16 numbers of a tile

/// What is known of a unit's queries, for each group: m, S = sum w, T = sum w D, (16) each, and O = sum w v, (width,
/// 16).
struct UnitState {
  float* maximum;  // -inf: no key seen
  float* sum;
  float* deviations;
  float* values;
  std::size_t width;  // a multiple of tile_depth

  // Inlined: a copy compiled for one instruction set must not be another source's.
  [[gnu::always_inline]] float* values_of(std::size_t group) const { return values + group * width * tile_lanes; }
};

/// A unit's queries and a block of keys.
struct UnitBlock {
  const std::byte* keys;         // width rows of steps * tile_depth bf16 numbers
  std::ptrdiff_t key_stride;     // in bytes
  std::size_t steps;             // of tile_depth dimensions
  const std::uint32_t* queries;  // (groups, 16 steps, 16): pairs of numbers, the lower one in the lower half
  std::size_t width;             // keys, a multiple of tile_depth
  const std::uint16_t* visible;  // (groups, tile_keys): a bit for each query that sees the key; nullptr: all see it
  float scale;
  const std::uint16_t* values;  // the block's values, from pack_values
  float* scores;                // room for (groups, tile_keys, 16)
  std::uint32_t* weights;       // (groups, tile_keys / 2, 16): pairs of bf16 weights exp(score - m)
  UnitState state;
};

/// The passes for one instruction set. All lanes give the same bits within a FlushingScope: of 32 products, the 16 of
/// even places and the 16 of odd places are two chains of fused multiply-adds; their sum is added to the number in the
/// result. Source: TDPBF16PS in Intel's Software Developer's Manual.
struct TileLane {
  const char* name;
  /// Before and after a thread's other passes.
  void (*configure)();
  void (*release)();
  /// (16, steps tile_depth) numbers, row after row, to UnitBlock::queries of a group.
  void (*pack_queries)(const std::uint16_t* rows, std::size_t steps, std::uint32_t* to);
  /// keys rows of width numbers, stride bytes apart, both multiples of tile_depth, to tiles (keys / 32, width / 16) of
  /// (16 columns, 32 keys). Returns whether all are finite.
  bool (*pack_values)(const std::byte* rows, std::ptrdiff_t stride, std::size_t keys, std::size_t width,
                      std::uint16_t* to);
  /// Adds a block to a unit's state.
  void (*attend)(const UnitBlock& block);
  /// left = left and right merged. A state without keys does not change the other's bits.
  void (*merge)(const UnitState& left, const UnitState& right);
};

/// The fastest lane of this machine; nullptr if it has none: x86-64 without fused multiply-adds.
/// SOFTCHECK_MAX_ISA=avx512 leaves out AMX, avx2 AVX-512 as well, ssse3 all.
const TileLane* tile_lane();

}  // namespace softcheck::kernels::cpu
