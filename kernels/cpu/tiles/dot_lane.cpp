// Compiled for AVX-512 with bf16, and called only if lanes.cpp finds it. So no function here may be shared with other
// sources, and CMake compiles this file alone, with its own instruction set.
//
// VDPBF16PS adds two products to a number, that of the upper halves first, each with a fused multiply-add, rounded to
// nearest with operands and results flushed (Intel's Software Developer's Manual). AMX adds the products of even and of
// odd places separately. So a pair holds two neighbouring even places, or two odd ones, the first in the upper half:
// the instruction then does two steps of one of AMX's chains.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/tiles/avx512_lane.inl"
#include "kernels/cpu/tiles/tile_lane.hpp"
#include "kernels/cpu/tiles/tile_passes.hpp"

namespace softcheck::kernels::cpu {
namespace {

struct Dot : Avx512 {
  static constexpr std::size_t step_pairs = tile_depth / 2;  // pairs of a row's 32 numbers: even, odd, even, ...
  static constexpr std::size_t panel_rows = 4;               // keys, or columns of values, that are multiplied together

  /// (0, 1, 2, 3) to the pairs (2, 0) and (3, 1), lower half first, of each four numbers.
  static __m512i arranged(__m512i row) {
    alignas(16) static constexpr std::uint8_t bytes[16] = {4, 5, 0, 1, 6, 7, 2, 3, 12, 13, 8, 9, 14, 15, 10, 11};
    return _mm512_shuffle_epi8(row, _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes))));
  }

  static Vector with_pair(Vector sum, Vector queries, std::uint32_t pair) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(queries),
                            reinterpret_cast<__m512bh>(_mm512_set1_epi32(static_cast<int>(pair))));
  }

  /// sums[group][row] += a row's 32 products with a group's queries. left, right: pairs (step_pairs, 16) of a group.
  static void multiply_step(const std::uint32_t* const (&rows)[panel_rows], const std::uint32_t* left,
                            const std::uint32_t* right, Vector (&sums)[unit_groups][panel_rows]) {
    Vector even[unit_groups][panel_rows];
    Vector odd[unit_groups][panel_rows];
    for (std::size_t r = 0; r < panel_rows; ++r) {
      even[0][r] = even[1][r] = odd[0][r] = odd[1][r] = _mm512_setzero_ps();
    }
    for (std::size_t pair = 0; pair < step_pairs; pair += 2) {
      const std::size_t at = pair * tile_lanes;
      const Vector even_left = _mm512_load_ps(left + at), even_right = _mm512_load_ps(right + at);
      const Vector odd_left = _mm512_load_ps(left + at + tile_lanes);
      const Vector odd_right = _mm512_load_ps(right + at + tile_lanes);
      for (std::size_t r = 0; r < panel_rows; ++r) {
        even[0][r] = with_pair(even[0][r], even_left, rows[r][pair]);
        even[1][r] = with_pair(even[1][r], even_right, rows[r][pair]);
        odd[0][r] = with_pair(odd[0][r], odd_left, rows[r][pair + 1]);
        odd[1][r] = with_pair(odd[1][r], odd_right, rows[r][pair + 1]);
      }
    }
    for (std::size_t group = 0; group < unit_groups; ++group) {
      for (std::size_t r = 0; r < panel_rows; ++r) {
        sums[group][r] = add(sums[group][r], add(even[group][r], odd[group][r]));
      }
    }
  }

  static void multiply_scores(const UnitBlock& block) {
    const std::uint32_t* const left = block.queries;
    const std::uint32_t* const right = left + block.steps * step_pairs * tile_lanes;
    const std::byte* key = block.keys;
    for (std::size_t j = 0; j < block.width; j += panel_rows) {
      Vector sums[unit_groups][panel_rows];
      for (std::size_t r = 0; r < panel_rows; ++r) sums[0][r] = sums[1][r] = _mm512_setzero_ps();
      for (std::size_t step = 0; step < block.steps; ++step) {
        alignas(64) std::uint32_t pairs[panel_rows][step_pairs];
        for (std::size_t r = 0; r < panel_rows; ++r) {
          const std::byte* const from = key + static_cast<std::ptrdiff_t>(r) * block.key_stride + step * 64;
          _mm512_store_si512(pairs[r], arranged(_mm512_loadu_si512(from)));
        }
        const std::size_t at = step * step_pairs * tile_lanes;
        multiply_step({pairs[0], pairs[1], pairs[2], pairs[3]}, left + at, right + at, sums);
      }
      for (std::size_t group = 0; group < unit_groups; ++group) {
        for (std::size_t r = 0; r < panel_rows; ++r) {
          store(block.scores + (group * tile_keys + j + r) * tile_lanes, sums[group][r]);
        }
      }
      key += static_cast<std::ptrdiff_t>(panel_rows) * block.key_stride;
    }
  }

  /// Pairs of keys (0, 1) and (2, 3) to (2, 0) and (3, 1), of each query.
  static void arrange_weights(const std::uint32_t* weights, std::size_t keys, std::uint32_t* to) {
    constexpr __mmask32 lower_halves = 0x55555555;
    for (std::size_t pair = 0; pair < keys / 2; pair += 2, weights += 2 * tile_lanes, to += 2 * tile_lanes) {
      const __m512i first = _mm512_load_si512(weights), second = _mm512_load_si512(weights + tile_lanes);
      _mm512_store_si512(to, _mm512_mask_mov_epi16(_mm512_slli_epi32(first, 16), lower_halves, second));
      _mm512_store_si512(to + tile_lanes, _mm512_mask_mov_epi16(first, lower_halves, _mm512_srli_epi32(second, 16)));
    }
  }

  static void multiply_values(const UnitBlock& block) {
    constexpr std::size_t group_pairs = tile_keys / 2 * tile_lanes;
    alignas(64) std::uint32_t weights[unit_groups][group_pairs];
    for (std::size_t group = 0; group < unit_groups; ++group) {
      arrange_weights(block.weights + group * group_pairs, block.width, weights[group]);
    }
    for (std::size_t c = 0; c < block.state.width; c += panel_rows) {
      Vector sums[unit_groups][panel_rows];
      for (std::size_t group = 0; group < unit_groups; ++group) {
        for (std::size_t r = 0; r < panel_rows; ++r) {
          sums[group][r] = load(block.state.values_of(group) + (c + r) * tile_lanes);
        }
      }
      for (std::size_t step = 0; step < block.width / tile_depth; ++step) {
        // Numbers of a column lie together, two to a pair.
        const auto* const pairs =
            reinterpret_cast<const std::uint32_t*>(block.values + (step * block.state.width + c) * tile_depth);
        const std::size_t at = step * step_pairs * tile_lanes;
        multiply_step({pairs, pairs + step_pairs, pairs + 2 * step_pairs, pairs + 3 * step_pairs}, weights[0] + at,
                      weights[1] + at, sums);
      }
      for (std::size_t group = 0; group < unit_groups; ++group) {
        for (std::size_t r = 0; r < panel_rows; ++r) {
          store(block.state.values_of(group) + (c + r) * tile_lanes, sums[group][r]);
        }
      }
    }
  }
};

void nothing() {}

}  // namespace

extern const TileLane dot_lane;
const TileLane dot_lane{
    "dot", nothing, nothing, pack_queries<Dot>, pack_values<Dot>, TilePasses<Dot>::attend, TilePasses<Dot>::merge};

}  // namespace softcheck::kernels::cpu
