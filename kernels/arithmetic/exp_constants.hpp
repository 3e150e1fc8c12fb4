#pragma once

#include <cstdint>

namespace softcheck::kernels::arithmetic {

/// exp(z) for z <= 0 as 2^k p(r), k = round(z log2 e), r = z - k ln 2 (Cody and Waite), p(r) = 1 + r + r^2 q(r).
///
/// q is the minimax polynomial of the weight r^2 / exp(r) on |r| <= ln(2)/2 (1 + 1e-4), found by Remez exchange at
/// 50 digits and rounded to the format; truncation is its relative error after that rounding, in units of u.
template <class T>
struct ExpConstants;

template <>
struct ExpConstants<float> {
  static constexpr int degree = 4;  // of q; truncation 0.064 u
  static constexpr float q[degree + 1] = {0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558f2p-5f, 0x1.1239e4p-7f,
                                          0x1.6a2432p-10f};
  // ln 2 to 15 bits and the rest: k ln2_high is exact, for |k| < 2^9.
  static constexpr float ln2_high = 0x1.62e4p-1f;
  static constexpr float ln2_low = 0x1.7f7d1cp-20f;
  static constexpr float log2_e = 0x1.715476p+0f;
  // 2^(k + 64) is normal for every k met (lowest >= -110, so k >= -159): one product by 2^-64 rounds at the very end.
  static constexpr int power_shift = 64;
  static constexpr float unscale = 0x1p-64f;
  // Adding it rounds to an integer and leaves k + 64 + 127, a biased exponent, in the low bits.
  static constexpr float rounder = 0x1.8p+23f + (64 + 127);
  static constexpr int significand_bits = 23;
  // exp(-110) < 2^-158 is below half the smallest subnormal, 2^-150: nothing at or under it is ever seen.
  static constexpr float lowest = -110.0f;
  // Here k + 64 + 127 = 0, so 2^(k + 64) comes out as 0, and the weight is 0. Between it and lowest the only guarantee
  // is a weight below 2^-158.
  static constexpr float vanishing = -132.4f;
};

template <>
struct ExpConstants<double> {
  static constexpr int degree = 10;  // of q; truncation 0.0065 u
  static constexpr double q[degree + 1] = {0x1p-1,
                                           0x1.555555555555bp-3,
                                           0x1.5555555555503p-5,
                                           0x1.111111110ec63p-7,
                                           0x1.6c16c16c3044ap-10,
                                           0x1.a01a01b37bc9dp-13,
                                           0x1.a01a01369bfd9p-16,
                                           0x1.71ddf02700d6cp-19,
                                           0x1.27e5b43856402p-22,
                                           0x1.af6bdce23ee77p-26,
                                           0x1.1e3d3231467cep-29};
  // ln 2 to 41 bits and the rest: k ln2_high is exact, for |k| < 2^12.
  static constexpr double ln2_high = 0x1.62e42fefa4p-1;
  static constexpr double ln2_low = -0x1.8432a1b0e2634p-43;
  static constexpr double log2_e = 0x1.71547652b82fep+0;
  static constexpr int power_shift = 512;
  static constexpr double unscale = 0x1p-512;
  static constexpr double rounder = 0x1.8p+52 + (512 + 1023);
  static constexpr int significand_bits = 52;
  // exp(-760) < 2^-1096, half the smallest subnormal is 2^-1075.
  static constexpr double lowest = -760.0;
  // k + 512 + 1023 = 0.
  static constexpr double vanishing = -1064.0;
};

}  // namespace softcheck::kernels::arithmetic
