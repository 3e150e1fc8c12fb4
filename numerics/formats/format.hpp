#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace softcheck::numerics {

/// The floating-point formats of logits and kernels. e4m3 is the finite OCP variant ("e4m3fn": no infinities, one NaN
/// pattern per sign); e5m2 follows IEEE 754.
enum class Format { f64, f32, f16, bf16, e4m3, e5m2 };

struct FormatProperties {
  std::string_view name;
  std::string_view array_name;  // of NumPy, ml_dtypes, torch and JAX
  std::string_view file_name;   // of safetensors
  int dlpack_code;              // DLDataTypeCode of DLPack 1.1; its bits are storage_bits
  int storage_bits;
  int precision;  // bits of the significand, the hidden one included
  int exponent_bits;
  int max_exponent;           // of the largest finite value: it lies in [2^max_exponent, 2^(max_exponent + 1))
  int min_exponent;           // of the smallest normal number: 2^min_exponent
  double unit_roundoff;       // 2^-precision
  double smallest_normal;     // 2^min_exponent
  double smallest_subnormal;  // 2^(min_exponent - precision + 1)
  double largest;
  bool has_infinity;
  bool may_saturate;  // conversions in use also give the largest number for what lies beyond it
};

/// Constants of a format. Source: IEEE 754-2019 (f64, f32, f16), the bfloat16 hardware numerics definition, and the OCP
/// 8-bit floating point specification.
const FormatProperties& properties(Format format);

std::span<const Format> all_formats();

/// "f64, f32, f16 or bf16", for messages: those of at most so many bits.
std::string format_names(int most_bits = 64);

/// Format of a name such as "f32"; nothing where there is none.
std::optional<Format> find_format(std::string_view name);

/// throws   std::invalid_argument naming the known formats
Format parse_format(std::string_view name);

/// Value of a bit pattern: every finite value of every format is exactly a double. Computed on integers alone, so that
/// flush-to-zero and denormals-are-zero cannot touch it.
///
/// bits     the low storage_bits bits; higher ones must be zero
double decode(Format format, std::uint64_t bits);

/// Bit pattern nearest to value, ties to even; the sign of zero is kept, NaN becomes the quiet NaN.
/// Overflow gives infinity, or NaN in e4m3, which has none.
std::uint64_t encode(Format format, double value);

/// The same of each.
std::vector<double> decode_all(Format format, std::span<const std::uint64_t> bits);
std::vector<std::uint64_t> encode_all(Format format, std::span<const double> values);

/// decode(format, encode(format, value)): the value of the format nearest to value.
double round_to(Format format, double value);

/// Is a number what a conversion may make of a real that lies beyond those of the format? Infinity of its sign; where
/// the format may saturate, its largest number too; where it has no infinity, NaN.
bool is_overflow(Format format, double number, bool negative);

}  // namespace softcheck::numerics
