// The same in plain C++ with fused multiply-adds. On x86-64 it is compiled for AVX2 and FMA, and called only if
// lanes.cpp finds them. So no function here may be shared with other sources, and CMake compiles this file alone, with
// its own instruction set.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/tiles/tile_lane.hpp"
#include "kernels/cpu/tiles/tile_passes.hpp"

namespace softcheck::kernels::cpu {
namespace {

constexpr std::size_t lanes = tile_lanes;

struct alignas(64) Floats {
  float x[lanes];
};

float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
std::uint32_t bits_of(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

struct Fma {
  using Vector = Floats;

  template <class Of>
  static Vector each(Of of) {
    Vector v;
    for (std::size_t i = 0; i < lanes; ++i) v.x[i] = of(i);
    return v;
  }

  static Vector load(const float* from) {
    return each([=](std::size_t i) { return from[i]; });
  }
  static void store(float* to, const Vector& v) {
    for (std::size_t i = 0; i < lanes; ++i) to[i] = v.x[i];
  }
  static Vector set(float x) {
    return each([=](std::size_t) { return x; });
  }
  static Vector add(const Vector& a, const Vector& b) {
    return each([&](std::size_t i) { return a.x[i] + b.x[i]; });
  }
  static Vector sub(const Vector& a, const Vector& b) {
    return each([&](std::size_t i) { return a.x[i] - b.x[i]; });
  }
  static Vector mul(const Vector& a, const Vector& b) {
    return each([&](std::size_t i) { return a.x[i] * b.x[i]; });
  }
  static Vector fma(const Vector& a, const Vector& b, const Vector& c) {
    return each([&](std::size_t i) { return __builtin_fmaf(a.x[i], b.x[i], c.x[i]); });
  }
  static Vector fnma(const Vector& a, const Vector& b, const Vector& c) {
    return each([&](std::size_t i) { return __builtin_fmaf(-a.x[i], b.x[i], c.x[i]); });
  }
  static Vector max(const Vector& a, const Vector& b) {
    return each([&](std::size_t i) { return a.x[i] > b.x[i] ? a.x[i] : b.x[i]; });
  }
  static Vector max_or_nan(const Vector& least, const Vector& x) {
    return each([&](std::size_t i) { return least.x[i] > x.x[i] ? least.x[i] : x.x[i]; });
  }
  static Vector keep(std::uint16_t kept, const Vector& x, const Vector& other) {
    return each([&](std::size_t i) { return (kept >> i & 1) != 0 ? x.x[i] : other.x[i]; });
  }
  static Vector zero_where_equal(const Vector& x, const Vector& y) {
    return each([&](std::size_t i) { return x.x[i] == y.x[i] ? 0.0f : x.x[i]; });
  }
  static bool differ(const Vector& a, const Vector& b) {
    bool found = false;
    for (std::size_t i = 0; i < lanes; ++i) found = found || !(a.x[i] == b.x[i]);
    return found;
  }
  static Vector exponent_of(const Vector& rounded) {
    return each([&](std::size_t i) { return float_of(bits_of(rounded.x[i]) << 23); });
  }
  /// Rounds to nearest even, in the upper half of the bits. A NaN may become any number: its row has no result.
  static std::uint32_t rounded_bf16(float w) {
    const std::uint32_t bits = bits_of(w);
    return (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
  }
  static void store_bf16_pairs(std::uint32_t* to, const Vector& lower, const Vector& upper) {
    for (std::size_t i = 0; i < lanes; ++i) {
      to[i] = rounded_bf16(lower.x[i]) >> 16 | rounded_bf16(upper.x[i]);
    }
  }

  /// One row of a tile: sums (16) += a (32) times b (16, 16 pairs).
  static void multiply_row(const std::uint16_t* a, const std::uint32_t* b, float* sums) {
    float even[lanes] = {};
    float odd[lanes] = {};
    for (std::size_t k = 0; k < tile_depth / 2; ++k, b += lanes) {
      const float left = float_of(std::uint32_t{a[2 * k]} << 16), right = float_of(std::uint32_t{a[2 * k + 1]} << 16);
      for (std::size_t i = 0; i < lanes; ++i) even[i] = __builtin_fmaf(left, float_of(b[i] << 16), even[i]);
      for (std::size_t i = 0; i < lanes; ++i) odd[i] = __builtin_fmaf(right, float_of(b[i] & 0xffff0000u), odd[i]);
    }
    for (std::size_t i = 0; i < lanes; ++i) sums[i] += even[i] + odd[i];
  }

  static void multiply_scores(const UnitBlock& block) {
    constexpr std::size_t tile = lanes * lanes;
    for (std::size_t group = 0; group < unit_groups; ++group) {
      const std::byte* key = block.keys;
      for (std::size_t j = 0; j < block.width; ++j, key += block.key_stride) {
        float* sums = block.scores + (group * tile_keys + j) * lanes;
        for (std::size_t i = 0; i < lanes; ++i) sums[i] = 0;
        for (std::size_t step = 0; step < block.steps; ++step) {
          std::uint16_t numbers[tile_depth];
          std::memcpy(numbers, key + step * sizeof numbers, sizeof numbers);
          multiply_row(numbers, block.queries + (group * block.steps + step) * tile, sums);
        }
      }
    }
  }

  static void multiply_values(const UnitBlock& block) {
    constexpr std::size_t tile = lanes * lanes;
    for (std::size_t group = 0; group < unit_groups; ++group) {
      const std::uint32_t* weights = block.weights + group * (tile_keys / 2) * lanes;
      float* sums = block.state.values_of(group);
      for (std::size_t step = 0; step < block.width / tile_depth; ++step) {
        const std::uint16_t* values = block.values + step * block.state.width * tile_depth;
        for (std::size_t c = 0; c < block.state.width; ++c) {
          multiply_row(values + c * tile_depth, weights + step * tile, sums + c * lanes);
        }
      }
    }
  }
};

void nothing() {}

void pack_queries(const std::uint16_t* rows, std::size_t steps, std::uint32_t* to) {
  for (std::size_t pair = 0; pair < steps * tile_depth / 2; ++pair, to += lanes) {
    for (std::size_t row = 0; row < lanes; ++row) {
      const std::uint16_t* at = rows + row * steps * tile_depth + 2 * pair;
      to[row] = at[0] | std::uint32_t{at[1]} << 16;
    }
  }
}

bool pack_values(const std::byte* rows, std::ptrdiff_t stride, std::size_t keys, std::size_t width, std::uint16_t* to) {
  bool finite = true;
  for (std::size_t j = 0; j < keys; ++j, rows += stride) {
    std::uint16_t* key = to + j / tile_depth * width * tile_depth + j % tile_depth;
    for (std::size_t c = 0; c < width; ++c) {
      std::uint16_t bits;
      std::memcpy(&bits, rows + c * sizeof bits, sizeof bits);
      key[c * tile_depth] = bits;
      finite = finite && (bits & 0x7f80u) != 0x7f80u;
    }
  }
  return finite;
}

}  // namespace

extern const TileLane fma_lane;
const TileLane fma_lane{
    "fma", nothing, nothing, pack_queries, pack_values, TilePasses<Fma>::attend, TilePasses<Fma>::merge};

}  // namespace softcheck::kernels::cpu
