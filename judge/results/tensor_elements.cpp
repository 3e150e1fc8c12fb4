#include "judge/results/tensor_elements.hpp"

#include <bit>
#include <cstring>

namespace softcheck::proptests {
namespace {

using numerics::Format;

// Its exponent and fraction at the places of a double's, times the ratio of the biases: exact, subnormal numbers too.
double half_to_double(std::uint16_t bits) {
  const std::uint64_t sign = static_cast<std::uint64_t>(bits & 0x8000u) << 48, magnitude = bits & 0x7fffu;
  const double value = magnitude < 0x7c00u ? std::bit_cast<double>(magnitude << 42) * 0x1p1008
                                           : std::bit_cast<double>((magnitude << 42) | 0x7ff0'0000'0000'0000u);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) | sign);
}

double brain_to_double(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

// Elements may stand at any address: they are copied, not pointed at.
template <class Bits, class Decode>
void decode_each(const std::byte* first, std::int64_t stride, std::span<double> values, Decode decode) {
  const std::ptrdiff_t step = stride * static_cast<std::ptrdiff_t>(sizeof(Bits));
  if (stride == 1) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      Bits bits;
      std::memcpy(&bits, first + i * sizeof(Bits), sizeof bits);
      values[i] = decode(bits);
    }
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    Bits bits;
    std::memcpy(&bits, first + static_cast<std::ptrdiff_t>(i) * step, sizeof bits);
    values[i] = decode(bits);
  }
}

}  // namespace

void decode_elements(const GivenTensor& tensor, std::int64_t offset, std::int64_t stride, std::span<double> values) {
  if (values.empty()) return;
  const Format format = *tensor.format;
  const std::byte* first = tensor.first + offset * (numerics::properties(format).storage_bits / 8);
  switch (format) {
    case Format::f64:
      return decode_each<double>(first, stride, values, [](double value) { return value; });
    case Format::f32:
      return decode_each<float>(first, stride, values, [](float value) { return static_cast<double>(value); });
    case Format::f16:
      return decode_each<std::uint16_t>(first, stride, values, half_to_double);
    case Format::bf16:
      return decode_each<std::uint16_t>(first, stride, values, brain_to_double);
    default:  // of 8 bits
      return decode_each<std::uint8_t>(first, stride, values,
                                       [format](std::uint8_t bits) { return numerics::decode(format, bits); });
  }
}

std::int64_t integer_at(const GivenTensor& tensor, std::int64_t offset) {
  const std::byte* const first = tensor.first + offset * static_cast<std::int64_t>(tensor.integer_bits / 8);
  if (tensor.integer_bits == 32) {
    std::int32_t value = 0;
    std::memcpy(&value, first, sizeof value);
    return value;
  }
  std::int64_t value = 0;
  std::memcpy(&value, first, sizeof value);
  return value;
}

void hide_masked(const GivenTensor& mask, std::int64_t offset, std::int64_t stride, double hidden,
                 std::span<double> items) {
  const std::byte* byte = mask.first + offset;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (byte[static_cast<std::int64_t>(i) * stride] == std::byte{0}) items[i] = hidden;
  }
}

bool mask_shows(const GivenTensor& mask, std::int64_t offset) { return mask.first[offset] != std::byte{0}; }

}  // namespace softcheck::proptests
