#include "judge/call/tensor_call.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace softcheck::proptests {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are stored by the low bytes of their bits");

[[noreturn]] void refuse(const std::string& need, std::size_t got) {
  throw std::invalid_argument("IsolatedKernel::call: need " + need + ", got " + std::to_string(got));
}

void require_valid(const TensorPlace& place, std::int64_t least_stride) {
  if (place.shape.empty() || place.shape.size() > most_dimensions) refuse("1 to 4 dimensions", place.shape.size());
  if (!place.strides.empty() && place.strides.size() != place.shape.size()) {
    refuse("no strides or one for each dimension", place.strides.size());
  }
  const bool positive = std::ranges::all_of(place.strides, [&](std::int64_t stride) { return stride >= least_stride; });
  const bool sizes = std::ranges::all_of(place.shape, [](std::int64_t size) { return size >= 0; });
  if (!positive || !sizes || place.offset < 0) {
    throw std::invalid_argument(
        "IsolatedKernel::call: need sizes >= 0, strides >= 1 (of an input >= 0) and an offset >= 0");
  }
}

// The integer in the low bits of a pattern: unsigned with 8 bits, else two's complement.
double integer_of(const TensorPlace& place, std::uint64_t pattern) {
  if (place.integer_bits == 8) return static_cast<double>(pattern);
  const int spare = 64 - place.integer_bits;
  return static_cast<double>(static_cast<std::int64_t>(pattern << spare) >> spare);
}

// Calls act(word, i, offset) for each element. `word` has the element's size as a type, so that copies compile to one
// instruction instead of a memcpy call.
template <typename Action>
void each_element(const TensorPlace& place, const std::vector<std::size_t>& offsets, const Action& act) {
  const auto visit = [&](auto word) {
    const std::size_t count = place.elements();
    if (offsets.empty()) {
      for (std::size_t i = 0; i < count; ++i) act(word, i, i * sizeof word);
    } else {
      for (std::size_t i = 0; i < count; ++i) act(word, i, offsets[i]);
    }
  };
  switch (place.element_bytes()) {
    case 1:
      return visit(std::uint8_t{});
    case 2:
      return visit(std::uint16_t{});
    case 4:
      return visit(std::uint32_t{});
    default:
      return visit(std::uint64_t{});
  }
}

// Can the first lie in the memory of the second, from its first element on?
bool is_within(const TensorPlace& part, const TensorPlace& whole) {
  return part.format == whole.format && part.bytes() <= whole.bytes() && part.offset == whole.offset &&
         part.against_the_end == whole.against_the_end;
}

// Writes counts exactly, and magnitudes with four digits.
std::string size_text(double size) {
  constexpr double most_written_out = 1e9;
  std::array<char, 32> text{};
  const bool is_count = size < most_written_out && size == std::trunc(size);
  std::snprintf(text.data(), text.size(), is_count ? "%.0f" : "%.4g", size);
  return text.data();
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
    const auto count = static_cast<std::size_t>(shape[d]);
    const std::size_t step = static_cast<std::size_t>(steps[d]) * size;
    std::vector<std::size_t> finer(result.size() * count);
    auto place = finer.begin();
    for (const std::size_t base : result) {
      for (std::size_t i = 0; i < count; ++i) *place++ = base + i * step;
    }
    result = std::move(finer);
  }
  return result;
}

void require_valid(const TensorCall& call) {
  if (call.inputs.empty() || call.inputs.size() > most_inputs) refuse("1 to 11 inputs", call.inputs.size());
  if (call.outputs.empty() || call.outputs.size() > most_outputs) refuse("1 to 5 outputs", call.outputs.size());
  if (call.op != 0 && call.roles.size() != call.inputs.size()) refuse("a role for each input", call.roles.size());
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const InputTensor& input = call.inputs[i];
    require_valid(input.place, 0);
    if (input.view_of && (*input.view_of >= i || !is_within(input.place, call.inputs[*input.view_of].place))) {
      refuse("a view of an earlier input, within its memory, got one", i);
    }
    if (input.values.size() != input.place.elements()) {
      refuse("as many values as the shape holds, " + std::to_string(input.place.elements()), input.values.size());
    }
    if (!input.patterns.empty() && input.patterns.rbegin()->first >= input.values.size()) {
      refuse("patterns of elements below " + std::to_string(input.values.size()), input.patterns.rbegin()->first);
    }
  }
  for (const OutputTensor& output : call.outputs) {
    require_valid(output.place, 1);
    if (!output.in_place_of) continue;
    if (*output.in_place_of >= call.inputs.size()) refuse("an input to write in place of", *output.in_place_of);
    if (!is_within(output.place, call.inputs[*output.in_place_of].place)) {
      throw std::invalid_argument("IsolatedKernel::call: an output in place needs its input's format and memory");
    }
  }
}

std::vector<std::uint64_t> encode(const InputTensor& tensor) {
  std::vector<std::uint64_t> bits;
  if (tensor.place.format) {
    bits = numerics::encode_all(*tensor.place.format, tensor.values);
  } else {
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - tensor.place.integer_bits);
    bits.reserve(tensor.values.size());
    for (const double value : tensor.values)
      bits.push_back(static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) & all);
  }
  for (const auto& [element, pattern] : tensor.patterns) bits.at(element) = pattern;
  return bits;
}

std::vector<double> decode(const TensorPlace& place, const std::vector<std::uint64_t>& bits) {
  if (place.format) return numerics::decode_all(*place.format, bits);
  std::vector<double> values;
  values.reserve(bits.size());
  for (const std::uint64_t pattern : bits) values.push_back(integer_of(place, pattern));
  return values;
}

void store(const TensorPlace& place, const std::vector<std::size_t>& offsets, const std::vector<std::uint64_t>& bits,
           std::byte* target) {
  each_element(place, offsets, [&](auto word, std::size_t i, std::size_t offset) {
    word = static_cast<decltype(word)>(bits[i]);
    std::memcpy(target + offset, &word, sizeof word);
  });
}

std::vector<std::uint64_t> load(const TensorPlace& place, const std::vector<std::size_t>& offsets,
                                const std::byte* source) {
  std::vector<std::uint64_t> bits(place.elements());
  each_element(place, offsets, [&](auto word, std::size_t i, std::size_t offset) {
    std::memcpy(&word, source + offset, sizeof word);
    bits[i] = word;
  });
  return bits;
}

bool holds(const TensorPlace& place, const std::vector<std::size_t>& offsets, const std::vector<std::uint64_t>& bits,
           const std::byte* source) {
  bool same = true;
  each_element(place, offsets, [&](auto word, std::size_t i, std::size_t offset) {
    std::memcpy(&word, source + offset, sizeof word);
    same &= word == static_cast<decltype(word)>(bits[i]);
  });
  return same;
}

void wipe(const TensorPlace& place, const std::vector<std::size_t>& offsets, std::byte filling, std::byte* target) {
  each_element(place, offsets, [&](auto word, std::size_t, std::size_t offset) {
    std::memset(&word, static_cast<int>(filling), sizeof word);
    std::memcpy(target + offset, &word, sizeof word);
  });
}

std::uint64_t alignment_of(const TensorCall& call) {
  constexpr std::size_t page = 4096;
  std::uint64_t alignment = page;
  const auto add = [&](const TensorPlace& place) {
    const std::size_t bytes = place.aligned_bytes() % page;
    if (place.against_the_end && bytes != 0) alignment = std::min<std::uint64_t>(alignment, bytes & (~bytes + 1));
  };
  for (const InputTensor& input : call.inputs) {
    if (!input.view_of) add(input.place);
  }
  for (const OutputTensor& output : call.outputs) add(output.place);
  return alignment;
}

void CallSizes::reach(std::string_view dimension, double size) {
  const auto found = std::ranges::find(sizes_, dimension, &Size::dimension);
  if (found != sizes_.end()) found->largest = std::max(found->largest, size);
}

std::string CallSizes::largest_called() const {
  std::string text;
  for (const Size& size : sizes_) {
    text += (text.empty() ? "largest called: " : ", ") + size.dimension + " " + size_text(size.largest);
    if (size.largest < size.range) text += " (not tried: up to " + size_text(size.range) + ")";
  }
  return text;
}

std::vector<std::string> CallSizes::not_tried() const {
  std::vector<std::string> lines;
  for (const Size& size : sizes_) {
    if (size.largest >= size.range) continue;
    lines.push_back(size.dimension + " beyond " + size_text(size.largest) + ", up to " + size_text(size.range) +
                    ": no judged call had it");
  }
  return lines;
}

}  // namespace softcheck::proptests
