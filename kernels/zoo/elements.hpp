#pragma once

#include <cstdint>
#include <cstring>
#include <iterator>

#include "kernels/abi/softcheck_kernel.h"
#include "kernels/arithmetic/format_bits.hpp"

// Single elements of every dtype, at any address.
namespace softcheck::kernels::zoo {

template <class Bits>
Bits bits_at(const char* from) {
  Bits bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

/// The dtype's, which is one of 8 bits.
inline const arithmetic::ByteFormat& byte_format(DLDataType type) {
  return arithmetic::byte_formats[arithmetic::byte_format_of(type.code)];
}

/// Real is double for f64 and float for the rest: each holds its dtypes' values exactly.
template <class Real>
Real load(DLDataType type, const char* from) {
  if (type.bits == 64) return static_cast<Real>(bits_at<double>(from));
  if (type.bits == 32) return static_cast<Real>(bits_at<float>(from));
  if (type.bits == 8) return static_cast<Real>(arithmetic::byte_to_f32(byte_format(type), bits_at<std::uint8_t>(from)));
  const auto bits = bits_at<std::uint16_t>(from);
  return static_cast<Real>(type.code == kDLBfloat ? arithmetic::bf16_to_f32(bits) : arithmetic::f16_to_f32(bits));
}

/// Rounds to nearest even if the dtype is narrower.
template <class Real>
void store(DLDataType type, Real value, char* to) {
  const auto put = [to](auto bits) { std::memcpy(to, &bits, sizeof bits); };
  if (type.bits == 64) {
    put(static_cast<double>(value));
  } else if (type.bits == 32) {
    put(static_cast<float>(value));
  } else {
    const float narrow = static_cast<float>(value);
    if (type.bits == 8) return put(arithmetic::f32_to_byte(byte_format(type), narrow));
    put(type.code == kDLBfloat ? arithmetic::f32_to_bf16(narrow) : arithmetic::f32_to_f16(narrow));
  }
}

inline bool is_f64(DLDataType type) { return type.bits == 64; }

/// Calls run(Real{}) of the format in which a dtype is computed. 0: done.
template <class Run>
int in_format_of(DLDataType type, Run run) {
  is_f64(type) ? run(double{}) : run(float{});
  return 0;
}

/// A floating-point format on the CPU.
inline bool is_float(const DLTensor& t) {
  const bool ieee = t.dtype.code == kDLFloat && (t.dtype.bits == 16 || t.dtype.bits == 32 || t.dtype.bits == 64);
  const bool brain = t.dtype.code == kDLBfloat && t.dtype.bits == 16;
  const bool short_one =
      t.dtype.bits == 8 && arithmetic::byte_format_of(t.dtype.code) < std::size(arithmetic::byte_formats);
  return t.device.device_type == kDLCPU && t.dtype.lanes == 1 && (ieee || brain || short_one);
}

/// A value rounded to a format of 16 bits.
inline float rounded_to_f16(float value) { return arithmetic::f16_to_f32(arithmetic::f32_to_f16(value)); }
/// In arithmetic::byte_formats[index].
inline float rounded_to_byte(std::size_t index, float value) {
  const arithmetic::ByteFormat& format = arithmetic::byte_formats[index];
  return arithmetic::byte_to_f32(format, arithmetic::f32_to_byte(format, value, arithmetic::Beyond::saturated));
}
inline float rounded_to_bf16(float value) { return arithmetic::bf16_to_f32(arithmetic::f32_to_bf16(value)); }

}  // namespace softcheck::kernels::zoo
