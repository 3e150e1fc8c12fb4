#include "proptests/judge/calls/tensor_call.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace softcheck::proptests {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are stored by the low bytes of their bits");

[[noreturn]] void refuse(const std::string& need, std::size_t got) {
  throw std::invalid_argument("IsolatedKernel::call: need " + need + ", got " + std::to_string(got));
}

void require_valid(const TensorPlace& place) {
  if (place.shape.empty() || place.shape.size() > most_dimensions) refuse("1 to 4 dimensions", place.shape.size());
  if (!place.strides.empty() && place.strides.size() != place.shape.size()) {
    refuse("no strides or one for each dimension", place.strides.size());
  }
  const bool positive = std::ranges::all_of(place.strides, [](std::int64_t stride) { return stride >= 1; });
  const bool sizes = std::ranges::all_of(place.shape, [](std::int64_t size) { return size >= 0; });
  if (!positive || !sizes || place.offset < 0) {
    throw std::invalid_argument("IsolatedKernel::call: need sizes >= 0, strides >= 1 and an offset >= 0");
  }
}

// The low bits of a pattern: of 8 not signed, of others two's complement.
double integer_of(const TensorPlace& place, std::uint64_t pattern) {
  if (place.integer_bits == 8) return static_cast<double>(pattern);
  const int spare = 64 - place.integer_bits;
  return static_cast<double>(static_cast<std::int64_t>(pattern << spare) >> spare);
}

bool one_view(const TensorPlace& a, const TensorPlace& b) {
  return a.format == b.format && a.shape == b.shape && a.strides == b.strides && a.offset == b.offset &&
         a.against_the_end == b.against_the_end;
}

}  // namespace

std::size_t TensorPlace::elements() const {
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  return count;
}

std::size_t TensorPlace::element_bytes() const {
  return format ? static_cast<std::size_t>(numerics::properties(*format).storage_bits) / 8
                : static_cast<std::size_t>(integer_bits) / 8;
}

std::vector<std::int64_t> TensorPlace::strides_in_use() const {
  if (!strides.empty()) return strides;
  std::vector<std::int64_t> compact(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) compact[d - 1] = compact[d] * std::max<std::int64_t>(shape[d], 1);
  return compact;
}

std::size_t TensorPlace::bytes() const {
  if (elements() == 0) return 0;
  const std::vector<std::int64_t> steps = strides_in_use();
  std::int64_t last = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) last += (shape[d] - 1) * steps[d];
  return (static_cast<std::size_t>(last) + 1) * element_bytes();
}

std::size_t TensorPlace::aligned_bytes() const { return (bytes() + alignment - 1) / alignment * alignment; }

std::vector<std::size_t> TensorPlace::offsets() const {
  const std::vector<std::int64_t> steps = strides_in_use();
  const std::size_t size = element_bytes();
  std::vector<std::size_t> result{0};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::vector<std::size_t> finer;
    finer.reserve(result.size() * static_cast<std::size_t>(shape[d]));
    for (const std::size_t base : result) {
      for (std::int64_t i = 0; i < shape[d]; ++i) finer.push_back(base + static_cast<std::size_t>(i * steps[d]) * size);
    }
    result = std::move(finer);
  }
  return result;
}

void require_valid(const TensorCall& call) {
  if (call.inputs.empty() || call.inputs.size() > most_inputs) refuse("1 to 11 inputs", call.inputs.size());
  if (call.outputs.empty() || call.outputs.size() > most_outputs) refuse("1 to 5 outputs", call.outputs.size());
  if (call.op != 0 && call.roles.size() != call.inputs.size()) refuse("a role for each input", call.roles.size());
  for (const InputTensor& input : call.inputs) {
    require_valid(input.place);
    if (input.values.size() != input.place.elements()) {
      refuse("as many values as the shape holds, " + std::to_string(input.place.elements()), input.values.size());
    }
    if (!input.patterns.empty() && input.patterns.rbegin()->first >= input.values.size()) {
      refuse("patterns of elements below " + std::to_string(input.values.size()), input.patterns.rbegin()->first);
    }
  }
  for (const OutputTensor& output : call.outputs) {
    require_valid(output.place);
    if (!output.in_place_of) continue;
    if (*output.in_place_of >= call.inputs.size()) refuse("an input to write in place of", *output.in_place_of);
    if (!one_view(output.place, call.inputs[*output.in_place_of].place)) {
      throw std::invalid_argument("IsolatedKernel::call: an output in place needs its input's format and place");
    }
  }
}

std::vector<std::uint64_t> encode(const InputTensor& tensor) {
  std::vector<std::uint64_t> bits;
  bits.reserve(tensor.values.size());
  const std::optional<numerics::Format> format = tensor.place.format;
  const std::uint64_t all = ~std::uint64_t{0} >> (64 - (format ? 64 : tensor.place.integer_bits));
  for (const double value : tensor.values) {
    bits.push_back(format ? numerics::encode(*format, value)
                          : static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) & all);
  }
  for (const auto& [element, pattern] : tensor.patterns) bits.at(element) = pattern;
  return bits;
}

std::vector<double> decode(const TensorPlace& place, const std::vector<std::uint64_t>& bits) {
  std::vector<double> values;
  values.reserve(bits.size());
  for (const std::uint64_t pattern : bits) {
    values.push_back(place.format ? numerics::decode(*place.format, pattern) : integer_of(place, pattern));
  }
  return values;
}

void store(const TensorPlace& place, const std::vector<std::size_t>& offsets, const std::vector<std::uint64_t>& bits,
           std::byte* target) {
  const std::size_t size = place.element_bytes();
  for (std::size_t i = 0; i < bits.size(); ++i) std::memcpy(target + offsets[i], &bits[i], size);
}

std::vector<std::uint64_t> load(const TensorPlace& place, const std::vector<std::size_t>& offsets,
                                const std::byte* source) {
  const std::size_t size = place.element_bytes();
  std::vector<std::uint64_t> bits(offsets.size());
  for (std::size_t i = 0; i < bits.size(); ++i) std::memcpy(&bits[i], source + offsets[i], size);
  return bits;
}

void wipe(const TensorPlace& place, const std::vector<std::size_t>& offsets, std::byte filling, std::byte* target) {
  const std::size_t size = place.element_bytes();
  for (const std::size_t offset : offsets) std::memset(target + offset, static_cast<int>(filling), size);
}

}  // namespace softcheck::proptests
