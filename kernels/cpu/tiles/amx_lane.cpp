// Compiled for AMX and AVX-512, and called only if lanes.cpp finds both. So no function here may be shared with other
// sources, and CMake compiles this file alone, with its own instruction set.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/tiles/avx512_lane.inl"
#include "kernels/cpu/tiles/tile_lane.hpp"
#include "kernels/cpu/tiles/tile_passes.hpp"

namespace softcheck::kernels::cpu {
namespace {

/// Of LDTILECFG, palette 1: eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileConfiguration {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

struct Amx : Avx512 {
  static __m512i arranged(__m512i row) { return row; }

  static constexpr std::size_t tile = tile_lanes * tile_lanes;

  /// Makes earlier writes reach memory: g++ 12 does not know that loads of tiles read memory.
  static void finish_writing() { __asm__ volatile("" : : : "memory"); }

  // Tiles 0 to 3 are sums, 4 and 5 hold rows of keys or columns of values, 6 and 7 columns of queries.
  static void multiply(const void* upper, const void* lower, std::ptrdiff_t stride, const std::uint32_t* left,
                       const std::uint32_t* right) {
    _tile_loadd(4, upper, stride);
    _tile_loadd(6, left, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(7, right, 64);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, lower, stride);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  static void store_sums(float* left, float* right) {
    _tile_stored(0, left, 64);
    _tile_stored(1, right, 64);
    _tile_stored(2, left + tile, 64);
    _tile_stored(3, right + tile, 64);
  }

  static void multiply_scores(const UnitBlock& block) {
    finish_writing();
    const std::ptrdiff_t stride = block.key_stride, tile_stride = static_cast<std::ptrdiff_t>(tile_lanes) * stride;
    const std::byte* upper = block.keys;
    for (std::size_t j = 0; j < block.width; j += 2 * tile_lanes, upper += 2 * tile_stride) {
      _tile_zero(0);
      _tile_zero(1);
      _tile_zero(2);
      _tile_zero(3);
      for (std::size_t step = 0; step < block.steps; ++step) {
        const std::uint32_t* queries = block.queries + step * tile;
        multiply(upper + step * 64, upper + tile_stride + step * 64, stride, queries, queries + block.steps * tile);
      }
      store_sums(block.scores + j * tile_lanes, block.scores + (tile_keys + j) * tile_lanes);
    }
  }

  static void multiply_values(const UnitBlock& block) {
    finish_writing();
    const std::size_t columns = block.state.width / tile_lanes;
    for (std::size_t c = 0; c < columns; c += 2) {
      float* left = block.state.values_of(0) + c * tile;
      float* right = block.state.values_of(1) + c * tile;
      _tile_loadd(0, left, 64);
      _tile_loadd(1, right, 64);
      _tile_loadd(2, left + tile, 64);
      _tile_loadd(3, right + tile, 64);
      for (std::size_t step = 0; step < block.width / tile_depth; ++step) {
        const std::uint16_t* values = block.values + (step * columns + c) * tile_numbers;
        const std::uint32_t* weights = block.weights + step * tile;
        multiply(values, values + tile_numbers, 64, weights, weights + tile_keys / 2 * tile_lanes);
      }
      store_sums(left, right);
    }
  }
};

void configure() {
  // Static: g++ 12 assumes that the instruction reads only the first eight bytes, and would not write the rest of a
  // local.
  static constexpr TileConfiguration configuration;
  _tile_loadconfig(&configuration);
}

void release() { _tile_release(); }

}  // namespace

extern const TileLane amx_lane;
const TileLane amx_lane{
    "amx", configure, release, pack_queries<Amx>, pack_values<Amx>, TilePasses<Amx>::attend, TilePasses<Amx>::merge};

}  // namespace softcheck::kernels::cpu
