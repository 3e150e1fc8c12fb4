#include "models/read/element_format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/read/file_source.hpp"
#include "models/read/placed_tensors.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::models {
namespace {

using numerics::Format;

static_assert(std::endian::native == std::endian::little, "the files are little-endian and are taken as they are");

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// F64 and F32: what C++ has.
template <typename T>
void decode_native(const std::byte* blocks, std::int64_t count, double* numbers) {
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = load<T>(blocks + i * static_cast<std::int64_t>(sizeof(T)));
}

// The upper half of an f32.
void decode_bf16(const std::byte* blocks, std::int64_t count, double* numbers) {
  for (std::int64_t i = 0; i < count; ++i) {
    numbers[i] = std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(blocks + 2 * i)} << 16);
  }
}

void decode_f16(const std::byte* blocks, std::int64_t count, double* numbers) {
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = f16_number(blocks + 2 * i);
}

auto decoder_of_bytes(Format format) {
  std::array<double, 256> table{};
  for (std::size_t bits = 0; bits < table.size(); ++bits) table[bits] = numerics::decode(format, bits);
  return [table](const std::byte* blocks, std::int64_t count, double* numbers) {
    for (std::int64_t i = 0; i < count; ++i) numbers[i] = table[std::to_integer<std::size_t>(blocks[i])];
  };
}

void decode_signed_byte(const std::byte* blocks, std::int64_t count, double* numbers) {
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = std::to_integer<std::int8_t>(blocks[i]);
}

// gpt-oss' blocks without their exponents: 32 numbers of E2M1, of each byte the lower half first.
void decode_e2m1_pairs(const std::byte* blocks, std::int64_t count, double* numbers) {
  constexpr std::array<double, 16> values{0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6};
  for (std::int64_t i = 0; i < 16 * count; ++i) {
    const auto byte = std::to_integer<std::size_t>(blocks[i]);
    numbers[2 * i] = values[byte & 15];
    numbers[2 * i + 1] = values[byte >> 4];
  }
}

// OCP's MX scales: 2^(e - 127), and NaN.
void decode_e8m0(const std::byte* blocks, std::int64_t count, double* numbers) {
  for (std::int64_t i = 0; i < count; ++i) {
    const int exponent = std::to_integer<int>(blocks[i]);
    numbers[i] = exponent == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, exponent - 127);
  }
}

const std::vector<ElementFormat>& element_formats() {
  static const std::vector<ElementFormat> all = [] {
    std::vector<ElementFormat> formats{{"F64", 1, 8, decode_native<double>},
                                       {"F32", 1, 4, decode_native<float>},
                                       {"F16", 1, 2, decode_f16},
                                       {"BF16", 1, 2, decode_bf16},
                                       {"I8", 1, 1, decode_signed_byte},
                                       {"F8_E8M0", 1, 1, decode_e8m0},
                                       {"MXFP4_BLOCKS", 32, 16, decode_e2m1_pairs}};
    for (const Format format : numerics::all_formats()) {
      const numerics::FormatProperties& p = numerics::properties(format);
      if (p.storage_bits == 8) formats.push_back({p.file_name, 1, 1, decoder_of_bytes(format)});
    }
    formats.insert(formats.end(), block_formats().begin(), block_formats().end());
    return formats;
  }();
  return all;
}

constexpr std::uint64_t piece_size = std::uint64_t{1} << 20;

void read_bytes(const ByteSource& source, std::uint64_t begin, std::uint64_t count, const std::string& name,
                const BytePieces& piece) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(count, piece_size)));
  while (count > 0) {
    const std::span<std::byte> next(bytes.data(), static_cast<std::size_t>(std::min(count, piece_size)));
    if (!source.read(begin, next)) {
      throw TensorFileError(name + " cannot be read: the file has become shorter, or its disk fails");
    }
    piece(next);
    begin += next.size();
    count -= next.size();
  }
}

void read_tensor_bytes(const TensorBytes& place, const StoredTensor& tensor, std::uint64_t most,
                       const BytePieces& piece) {
  const ElementFormat* format = find_element_format(tensor.dtype);
  if (format == nullptr) {
    throw UnsupportedTensorFile(place.file + ": tensor '" + tensor.name + "': need one of the dtypes " +
                                element_format_names() + ", got " + tensor.dtype);
  }
  auto count = static_cast<std::uint64_t>(format->block_bytes);
  for (const std::int64_t size : tensor.shape) count *= static_cast<std::uint64_t>(size);
  count = std::min(count / static_cast<std::uint64_t>(format->block_numbers), most);
  read_bytes(place.source, place.begin, count, place.file + ": tensor '" + tensor.name + "'", piece);
}

const PlacedTensors& in_files(const Checkpoint& checkpoint) {
  if (const auto* placed = dynamic_cast<const PlacedTensors*>(&checkpoint)) return *placed;
  throw std::logic_error(checkpoint.path() + ": no file holds the bytes of this checkpoint");
}

}  // namespace

const ElementFormat* find_element_format(std::string_view dtype) {
  const auto found = std::ranges::find(element_formats(), dtype, &ElementFormat::dtype);
  return found == element_formats().end() ? nullptr : &*found;
}

std::string element_format_names() {
  std::string names;
  for (const ElementFormat& format : element_formats()) {
    names += (names.empty() ? "" : ", ") + std::string(format.dtype);
  }
  return names;
}

void read_stored_bytes(const Checkpoint& checkpoint, const StoredTensor& tensor, std::uint64_t most,
                       const BytePieces& piece) {
  const PlacedTensor& place = in_files(checkpoint).placed(tensor);
  read_tensor_bytes(place.bytes, place.tensor, most, piece);
  if (place.scale) read_tensor_bytes(place.scale->bytes, place.scale->tensor, most, piece);
}

void read_description_bytes(const Checkpoint& checkpoint, const BytePieces& piece) {
  const std::string& name = checkpoint.config().file();
  const ByteSource source = open_file_source(name);
  std::uint64_t end = source.size;
  if (checkpoint.format() == "gguf") {
    for (const std::string& tensor : checkpoint.names()) {
      end = std::min(end, in_files(checkpoint).placed(*checkpoint.find(tensor)).bytes.begin);
    }
  }
  read_bytes(source, 0, end, name, piece);
}

}  // namespace softcheck::models
