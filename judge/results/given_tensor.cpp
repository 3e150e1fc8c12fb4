#include "judge/results/given_tensor.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace softcheck::proptests {
namespace {

using numerics::Format;

// DLPack's code for bool; its header defines it since version 0.8.
constexpr int bool_code = 6;

std::string name_of(const DLDataType& dtype) {
  static constexpr const char* names[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  const std::string code =
      dtype.code < std::size(names) ? names[dtype.code] : "code " + std::to_string(dtype.code) + " of bits ";
  const std::string lanes = dtype.lanes == 1 ? "" : " in lanes of " + std::to_string(dtype.lanes);
  return code + std::to_string(dtype.bits) + lanes;
}

void set_dtype(GivenTensor& held, const DLDataType& dtype, const std::string& name) {
  const int code = dtype.code, bits = dtype.bits;
  if (dtype.lanes == 1) {
    for (const numerics::Format format : numerics::all_formats()) {
      const numerics::FormatProperties& facts = numerics::properties(format);
      if (facts.dlpack_code == code && facts.storage_bits == bits) held.format = format;
    }
    if (code == kDLInt && (bits == 32 || bits == 64)) held.integer_bits = dtype.bits;
    const bool is_mask = (code == kDLUInt || code == bool_code) && bits == 8;
    if (held.format || held.integer_bits != 0 || is_mask) return;
  }
  throw std::invalid_argument(name + ": need dtype " + numerics::format_names() +
                              ", int32, int64, uint8 or bool on the CPU, got " + name_of(dtype));
}

constexpr std::size_t most_elements = std::size_t{1} << 48;

// Moves exponent and fraction to a double's place and scales by the difference of the biases: exact, including
// subnormals.
double half_to_double(std::uint16_t bits) {
  const std::uint64_t sign = static_cast<std::uint64_t>(bits & 0x8000u) << 48, magnitude = bits & 0x7fffu;
  const double value = magnitude < 0x7c00u ? std::bit_cast<double>(magnitude << 42) * 0x1p1008
                                           : std::bit_cast<double>((magnitude << 42) | 0x7ff0'0000'0000'0000u);
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) | sign);
}

double brain_to_double(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

// Elements may be unaligned: copy them.
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

std::string dtype_name(const GivenTensor& tensor) {
  if (tensor.format) return std::string(numerics::properties(*tensor.format).name);
  return tensor.integer_bits != 0 ? "int" + std::to_string(tensor.integer_bits) : "a mask of bytes";
}

GivenTensor from_dlpack(const DLTensor& tensor, std::string_view given_name) {
  const std::string name(given_name);
  if (tensor.device.device_type != kDLCPU) {
    throw std::invalid_argument(name + ": need a tensor in the CPU's memory, got one on device type " +
                                std::to_string(static_cast<int>(tensor.device.device_type)));
  }
  GivenTensor held;
  set_dtype(held, tensor.dtype, name);
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr)) {
    throw std::invalid_argument(name + ": need a shape, got " + std::to_string(tensor.ndim) + " dimensions" +
                                (tensor.ndim < 0 ? "" : " and none"));
  }
  held.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  const std::size_t elements = elements_of(held.shape, name);
  held.strides = tensor.strides == nullptr ? compact_strides(held.shape)
                                           : std::vector<std::int64_t>(tensor.strides, tensor.strides + tensor.ndim);
  if (tensor.data != nullptr) held.first = static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
  if (elements > 0 && held.first == nullptr) {
    throw std::invalid_argument(name + ": need data for " + std::to_string(elements) + " elements, got NULL");
  }
  return held;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::size_t elements_of(std::span<const std::int64_t> shape, const std::string& name) {
  for (const std::int64_t size : shape) {
    if (size < 0) throw std::invalid_argument(name + ": need sizes >= 0, got shape " + shape_text(shape));
  }
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  std::size_t elements = 1;
  for (const std::int64_t size : shape) {
    if (static_cast<std::size_t>(size) > most_elements / elements) {
      throw std::invalid_argument(name + ": need at most 2^48 elements, got shape " + shape_text(shape));
    }
    elements *= static_cast<std::size_t>(size);
  }
  return elements;
}

Shape compact_strides(std::span<const std::int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<std::int64_t>(shape[i], 1);
  return strides;
}

void require_shape(const std::string& name, std::span<const std::int64_t> got, std::span<const std::int64_t> need) {
  if (std::ranges::equal(got, need)) return;
  throw std::invalid_argument(name + ": need shape " + shape_text(need) + ", got " + shape_text(got));
}

Shape broadcast_strides(const std::string& name, std::span<const std::int64_t> shape,
                        std::span<const std::int64_t> strides, std::span<const std::int64_t> target) {
  Shape result(target.size(), 0);
  bool fits = shape.size() <= target.size();
  for (std::size_t k = 1; fits && k <= shape.size(); ++k) {
    const std::int64_t size = shape[shape.size() - k], wanted = target[target.size() - k];
    if (size == wanted) {
      result[target.size() - k] = strides[shape.size() - k];
    } else if (size != 1) {
      fits = false;
    }
  }
  if (!fits) {
    throw std::invalid_argument(name + ": need a shape that broadcasts to " + shape_text(target) + ", got " +
                                shape_text(shape));
  }
  return result;
}

RowWalk::RowWalk(Shape shape) : shape_(std::move(shape)), rows_(elements_of(shape_, "rows")) {}

std::vector<std::int64_t> RowWalk::index(std::size_t row) const {
  std::vector<std::int64_t> result(shape_.size());
  for (std::size_t d = shape_.size(); d-- > 0;) {
    const auto size = static_cast<std::size_t>(shape_[d]);
    result[d] = static_cast<std::int64_t>(row % size);
    row /= size;
  }
  return result;
}

std::int64_t RowWalk::offset(std::size_t row, std::span<const std::int64_t> strides) const {
  std::int64_t offset = 0;
  for (std::size_t d = shape_.size(); d-- > 0;) {
    const auto size = static_cast<std::size_t>(shape_[d]);
    offset += static_cast<std::int64_t>(row % size) * strides[d];
    row /= size;
  }
  return offset;
}

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
    default:  // 8-bit formats
      return decode_each<std::uint8_t>(first, stride, values,
                                       [format](std::uint8_t bits) { return numerics::decode(format, bits); });
  }
}

std::vector<double> decoded(const GivenTensor& tensor) {
  const RowWalk walk(tensor.shape);
  std::vector<double> values(walk.rows());
  for (std::size_t i = 0; i < values.size(); ++i)
    decode_elements(tensor, walk.offset(i, tensor.strides), 1, std::span(values).subspan(i, 1));
  return values;
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

std::optional<std::size_t> label_at(const GivenTensor& labels, const RowWalk& walk, std::size_t row,
                                    std::int64_t classes, std::int64_t ignored) {
  const std::int64_t label = integer_at(labels, walk.offset(row, labels.strides));
  if (label == ignored) return std::nullopt;
  if (label >= 0 && label < classes) return static_cast<std::size_t>(label);
  throw std::invalid_argument("labels: need one of " + std::to_string(classes) + " classes, or ignore_index " +
                              std::to_string(ignored) + ", got " + std::to_string(label) + " at " +
                              shape_text(walk.index(row)));
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
