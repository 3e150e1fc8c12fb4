#include "judge/results/files/safetensors_tensor.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/results/files/tensor_file.hpp"
#include "models/read/safetensors_header.hpp"

namespace softcheck::proptests {
namespace {

using models::SafetensorsEntry;
using numerics::Format;

void set_dtype(GivenTensor& tensor, const models::SafetensorsEntry& entry, const std::string& place) {
  std::string known;
  for (const Format format : numerics::all_formats()) {
    const std::string_view name = numerics::properties(format).file_name;
    if (entry.dtype == name) tensor.format = format;
    known += std::string(name) + ", ";
  }
  if (entry.dtype == "I64") tensor.integer_bits = 64;
  if (entry.dtype == "I32") tensor.integer_bits = 32;
  if (!tensor.is_mask() || entry.dtype == "U8" || entry.dtype == "BOOL") return;
  throw models::TensorFileError(place + ": need dtype " + known + "I64, I32, U8 or BOOL, got " + entry.dtype);
}

}  // namespace

SafetensorsTensor parse_safetensors_tensor(std::span<const std::byte> bytes, const std::string& name,
                                           const std::string& wanted) {
  const models::SafetensorsHeader header = models::read_safetensors_header(models::bytes_at_hand(bytes), name);
  std::vector<std::string> names;
  for (const models::SafetensorsEntry& entry : header.tensors) names.push_back(entry.name);
  const models::SafetensorsEntry& entry = header.tensors[place_of_name(names, wanted, name)];
  GivenTensor tensor{bytes.data() + header.data_begin + entry.begin, std::nullopt, entry.shape,
                     std::vector<std::int64_t>(entry.shape.size())};
  set_dtype(tensor, entry, name + ":" + entry.name);
  if (std::ranges::find(entry.shape, 0) == entry.shape.end()) {
    std::int64_t stride = 1;
    for (std::size_t axis = entry.shape.size(); axis-- > 0;) {
      tensor.strides[axis] = stride;
      stride *= entry.shape[axis];
    }
  }
  return {std::move(tensor), entry.name, entry.dtype};
}

}  // namespace softcheck::proptests
