#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace softcheck::numerics {

/// The floating-point formats of logits and kernels. e4m3 is the finite OCP variant ("e4m3fn": no infinities, one NaN
/// per sign); e5m2 follows IEEE 754.
enum class Format { f64, f32, f16, bf16, e4m3, e5m2 };

struct FormatProperties {
  std::string_view name;
  std::string_view array_name;  // in NumPy, ml_dtypes, torch and JAX
  std::string_view file_name;   // in safetensors
  int dlpack_code;              // DLDataTypeCode of DLPack 1.1; its bits are storage_bits
  int storage_bits;
  int precision;  // bits of the significand, including the hidden one
  int exponent_bits;
  int max_exponent;           // of the largest finite value: it lies in [2^max_exponent, 2^(max_exponent + 1))
  int min_exponent;           // of the smallest normal number: 2^min_exponent
  double unit_roundoff;       // 2^-precision
  double smallest_normal;     // 2^min_exponent
  double smallest_subnormal;  // 2^(min_exponent - precision + 1)
  double largest;
  bool has_infinity;
  bool may_saturate;  // some conversions give the largest number instead of overflowing
};

/// Constants of a format. Source: IEEE 754-2019 (f64, f32, f16), the bfloat16 hardware numerics definition, and the OCP
/// 8-bit floating point specification.
const FormatProperties& properties(Format format);

std::span<const Format> all_formats();

/// "f64, f32, f16 or bf16", for messages: those of at most so many bits.
std::string format_names(int most_bits = 64);

/// The format with this name, such as "f32"; nothing if there is none.
std::optional<Format> find_format(std::string_view name);

/// throws   std::invalid_argument with the list of formats
Format parse_format(std::string_view name);

/// The value of a bit pattern: every finite value of every format is exactly a double. Uses only integers, so
/// flush-to-zero and denormals-are-zero do not affect it.
///
/// bits     the low storage_bits bits; higher ones must be zero
double decode(Format format, std::uint64_t bits);

/// The nearest bit pattern, ties to even; keeps the sign of zero; NaN becomes the quiet NaN. Overflow gives infinity,
/// or NaN in e4m3, which has no infinity.
std::uint64_t encode(Format format, double value);

/// The same for each element.
std::vector<double> decode_all(Format format, std::span<const std::uint64_t> bits);
std::vector<std::uint64_t> encode_all(Format format, std::span<const double> values);

/// decode(format, encode(format, value)): the nearest value of the format.
double round_to(Format format, double value);

/// Can a conversion turn a real beyond the format's range into this number? Infinity of the real's sign; the largest
/// number if the format may saturate; NaN if it has no infinity.
bool is_overflow(Format format, double number, bool negative);

}  // namespace softcheck::numerics
