// Vectors and packing of the sources that are compiled for AVX-512: included in each, as its functions may not be
// shared with another one.
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/tiles/tile_lane.hpp"

namespace softcheck::kernels::cpu {
namespace {

void transpose(__m512i (&rows)[16]) {
  __m512i by_two[16];
  __m512i by_four[16];
  for (std::size_t i = 0; i < 16; i += 2) {
    by_two[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    by_two[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (std::size_t i = 0; i < 16; i += 4) {
    by_four[i] = _mm512_unpacklo_epi64(by_two[i], by_two[i + 2]);
    by_four[i + 1] = _mm512_unpackhi_epi64(by_two[i], by_two[i + 2]);
    by_four[i + 2] = _mm512_unpacklo_epi64(by_two[i + 1], by_two[i + 3]);
    by_four[i + 3] = _mm512_unpackhi_epi64(by_two[i + 1], by_two[i + 3]);
  }
  // by_four[4 b + c] has of rows 4 b to 4 b + 3 the columns c, 4 + c, 8 + c, 12 + c, a quarter each.
  for (std::size_t c = 0; c < 4; ++c) {
    const __m512i even_low = _mm512_shuffle_i32x4(by_four[c], by_four[4 + c], 0x88);
    const __m512i odd_low = _mm512_shuffle_i32x4(by_four[c], by_four[4 + c], 0xdd);
    const __m512i even_high = _mm512_shuffle_i32x4(by_four[8 + c], by_four[12 + c], 0x88);
    const __m512i odd_high = _mm512_shuffle_i32x4(by_four[8 + c], by_four[12 + c], 0xdd);
    rows[c] = _mm512_shuffle_i32x4(even_low, even_high, 0x88);
    rows[8 + c] = _mm512_shuffle_i32x4(even_low, even_high, 0xdd);
    rows[4 + c] = _mm512_shuffle_i32x4(odd_low, odd_high, 0x88);
    rows[12 + c] = _mm512_shuffle_i32x4(odd_low, odd_high, 0xdd);
  }
}

/// TilePasses' vectors.
struct Avx512 {
  using Vector = __m512;

  static Vector load(const float* from) { return _mm512_load_ps(from); }
  static void store(float* to, Vector v) { _mm512_store_ps(to, v); }
  static Vector set(float x) { return _mm512_set1_ps(x); }
  static Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static Vector sub(Vector a, Vector b) { return _mm512_sub_ps(a, b); }
  static Vector mul(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
  static Vector fnma(Vector a, Vector b, Vector c) { return _mm512_fnmadd_ps(a, b, c); }
  // maxps gives its second operand where either is NaN.
  static Vector max(Vector a, Vector b) { return _mm512_max_ps(a, b); }
  static Vector max_or_nan(Vector least, Vector x) { return _mm512_max_ps(least, x); }
  static Vector keep(std::uint16_t lanes, Vector x, Vector other) { return _mm512_mask_mov_ps(other, lanes, x); }
  static Vector zero_where_equal(Vector x, Vector y) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(x, y, _CMP_NEQ_UQ), x);
  }
  static bool differ(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ) != 0; }
  static Vector exponent_of(Vector rounded) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(rounded), 23));
  }
  static void store_bf16_pairs(std::uint32_t* to, Vector lower, Vector upper) {
    alignas(64) static constexpr std::uint16_t pairs[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                            21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                            11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const __m512i halves = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(upper, lower));
    _mm512_store_si512(to, _mm512_permutexvar_epi16(_mm512_load_si512(pairs), halves));
  }
};

/// Machine::arranged(row): 32 numbers in the order that the machine's products take them in.
template <class Machine>
void pack_queries(const std::uint16_t* rows, std::size_t steps, std::uint32_t* to) {
  for (std::size_t step = 0; step < steps; ++step) {
    __m512i pairs[16];
    for (std::size_t row = 0; row < 16; ++row) {
      pairs[row] = Machine::arranged(_mm512_loadu_si512(rows + (row * steps + step) * tile_depth));
    }
    transpose(pairs);
    for (std::size_t row = 0; row < 16; ++row, to += tile_lanes) {
      _mm512_store_si512(to, pairs[row]);
    }
  }
}

/// 32 keys' numbers of 32 columns. Returns the largest exponents met, without their signs.
template <class Machine>
__m512i pack_columns(const std::byte* from, std::ptrdiff_t stride, std::uint16_t* to) {
  __m512i low[16];
  __m512i high[16];
  __m512i largest = _mm512_setzero_si512();
  for (std::size_t pair = 0; pair < 16; ++pair, from += 2 * stride) {
    const __m512i even = _mm512_loadu_si512(from), odd = _mm512_loadu_si512(from + stride);
    largest = _mm512_max_epu16(largest, _mm512_add_epi16(even, even));
    largest = _mm512_max_epu16(largest, _mm512_add_epi16(odd, odd));
    // A quarter holds columns 8 i to 8 i + 3, and 8 i + 4 to 8 i + 7.
    low[pair] = _mm512_unpacklo_epi16(even, odd);
    high[pair] = _mm512_unpackhi_epi16(even, odd);
  }
  transpose(low);
  transpose(high);
  for (std::size_t i = 0; i < 16; ++i) {
    const std::size_t column = i / 4 * 8 + i % 4;
    _mm512_store_si512(to + column * tile_depth, Machine::arranged(low[i]));
    _mm512_store_si512(to + (column + 4) * tile_depth, Machine::arranged(high[i]));
  }
  return largest;
}

template <class Machine>
bool pack_values(const std::byte* rows, std::ptrdiff_t stride, std::size_t keys, std::size_t width, std::uint16_t* to) {
  __m512i largest = _mm512_setzero_si512();
  for (std::size_t j = 0; j < keys; j += tile_depth, rows += static_cast<std::ptrdiff_t>(tile_depth) * stride) {
    for (std::size_t c = 0; c < width; c += 2 * tile_lanes, to += 2 * tile_numbers) {
      largest = _mm512_max_epu16(largest, pack_columns<Machine>(rows + c * sizeof(std::uint16_t), stride, to));
    }
  }
  constexpr auto infinity = static_cast<short>(0xff00);  // without the sign
  return _mm512_cmpge_epu16_mask(largest, _mm512_set1_epi16(infinity)) == 0;
}

}  // namespace
}  // namespace softcheck::kernels::cpu
