#include "judge/results/given_tensor.hpp"

#include <stdexcept>
#include <string>

#include "judge/results/tensor_shape.hpp"

namespace softcheck::proptests {
namespace {

// DLPack's code of bool, which the header knows from version 0.8 on.
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

}  // namespace

std::string dtype_name(const GivenTensor& tensor) {
  if (tensor.format) return std::string(numerics::properties(*tensor.format).name);
  return tensor.integer_bits != 0 ? "int" + std::to_string(tensor.integer_bits) : "a mask of bytes";
}

GivenTensor held_tensor(const DLTensor& tensor, std::string_view given_name) {
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

}  // namespace softcheck::proptests
