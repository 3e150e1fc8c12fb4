#include "models/read/element_format.hpp"

#include <algorithm>
#include <array>
#include <bit>
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

int low_nibble(std::byte byte) { return std::to_integer<int>(byte & std::byte{15}); }
int high_nibble(std::byte byte) { return std::to_integer<int>(byte >> 4); }

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

// What one in the last place is worth, for each sign and exponent of an f16: infinite where it has no number.
constexpr std::array<double, 64> f16_units = [] {
  std::array<double, 64> units{};
  for (std::size_t field = 0; field < 64; ++field) {
    double unit = 0x1p-24;
    for (std::size_t i = 1; i < field % 32; ++i) unit *= 2;
    if (field % 32 == 31) unit = std::numeric_limits<double>::infinity();
    units[field] = field < 32 ? unit : -unit;
  }
  return units;
}();

double f16(const std::byte* from) {
  const unsigned bits = load<std::uint16_t>(from);
  const unsigned hidden = (bits & 0x7c00) != 0 ? 0x400 : 0;
  return static_cast<int>((bits & 0x3ff) | hidden) * f16_units[bits >> 10];
}

void decode_f16(const std::byte* blocks, std::int64_t count, double* numbers) {
  for (std::int64_t i = 0; i < count; ++i) numbers[i] = f16(blocks + 2 * i);
}

auto decoder_of_bytes(Format format) {
  std::array<double, 256> table{};
  for (std::size_t bits = 0; bits < table.size(); ++bits) table[bits] = numerics::decode(format, bits);
  return [table](const std::byte* blocks, std::int64_t count, double* numbers) {
    for (std::int64_t i = 0; i < count; ++i) numbers[i] = table[std::to_integer<std::size_t>(blocks[i])];
  };
}

// 32 numbers: f16 d, then 16 bytes; the low nibbles are the first 16 numbers. d (nibble - 8).
void decode_q4_0(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 18, numbers += 32) {
    const double d = f16(block);
    for (int i = 0; i < 16; ++i) {
      numbers[i] = d * (low_nibble(block[2 + i]) - 8);
      numbers[16 + i] = d * (high_nibble(block[2 + i]) - 8);
    }
  }
}

// 32 numbers: f16 d, then 32 signed bytes.
void decode_q8_0(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 34, numbers += 32) {
    const double d = f16(block);
    for (int i = 0; i < 32; ++i) numbers[i] = d * std::to_integer<std::int8_t>(block[2 + i]);
  }
}

struct ScaleAndMinimum {
  int scale, minimum;
};

// Eight scales and eight minima of 6 bits in 12 bytes: of the first four the lower 6 bits of bytes 0 .. 3 and 4 .. 7;
// of the others the nibbles of bytes 8 .. 11 below the upper 2 bits of bytes 0 .. 3 and 4 .. 7.
ScaleAndMinimum q4_k_scale(const std::byte* bytes, int part) {
  const auto lower = [&](int at) { return std::to_integer<int>(bytes[at] & std::byte{63}); };
  const auto upper = [&](int at) { return std::to_integer<int>(bytes[at] >> 6) << 4; };
  if (part < 4) return {lower(part), lower(part + 4)};
  return {low_nibble(bytes[part + 4]) | upper(part - 4), high_nibble(bytes[part + 4]) | upper(part)};
}

// 256 numbers in eight parts of 32: f16 d and dmin, 12 bytes of scales and minima, 128 bytes of nibbles; the low
// nibbles of 32 bytes are one part, the high ones the next. d scale nibble - dmin minimum, which is exact: an integer
// times 2^-24 and below 2^27.
void decode_q4_k(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 144) {
    const double d = f16(block), dmin = f16(block + 2);
    const std::byte* nibbles = block + 16;
    for (int part = 0; part < 8; part += 2, nibbles += 32, numbers += 64) {
      const ScaleAndMinimum first = q4_k_scale(block + 4, part), second = q4_k_scale(block + 4, part + 1);
      const double d1 = d * first.scale, m1 = dmin * first.minimum;
      const double d2 = d * second.scale, m2 = dmin * second.minimum;
      for (int i = 0; i < 32; ++i) {
        numbers[i] = d1 * low_nibble(nibbles[i]) - m1;
        numbers[32 + i] = d2 * high_nibble(nibbles[i]) - m2;
      }
    }
  }
}

// 256 numbers in two halves: 128 bytes of lower nibbles, 64 bytes of upper bit pairs, a signed byte of scale for each
// 16 numbers, f16 d. d scale (6 bits - 32). The four quarters of a half take the low nibbles of its first and second 32
// bytes, then their high ones, and the bit pairs from the lowest on.
void decode_q6_k(const std::byte* block, std::int64_t count, double* numbers) {
  for (; count > 0; --count, block += 210) {
    const double d = f16(block + 208);
    for (int half = 0; half < 2; ++half, numbers += 128) {
      const std::byte *low = block + 64 * half, *high = block + 128 + 32 * half, *scales = block + 192 + 8 * half;
      for (int quarter = 0; quarter < 4; ++quarter) {
        for (int i = 0; i < 32; ++i) {
          const std::byte byte = low[32 * (quarter % 2) + i];
          const int nibble = quarter < 2 ? low_nibble(byte) : high_nibble(byte);
          const int pair = std::to_integer<int>((high[i] >> (2 * quarter)) & std::byte{3});
          const double scale = d * std::to_integer<std::int8_t>(scales[2 * quarter + i / 16]);
          numbers[32 * quarter + i] = scale * ((nibble | pair << 4) - 32);
        }
      }
    }
  }
}

const std::vector<ElementFormat>& element_formats() {
  static const std::vector<ElementFormat> all = [] {
    std::vector<ElementFormat> formats{{"F64", 1, 8, decode_native<double>},
                                       {"F32", 1, 4, decode_native<float>},
                                       {"F16", 1, 2, decode_f16},
                                       {"BF16", 1, 2, decode_bf16}};
    for (const Format format : numerics::all_formats()) {
      const numerics::FormatProperties& p = numerics::properties(format);
      if (p.storage_bits == 8) formats.push_back({p.file_name, 1, 1, decoder_of_bytes(format)});
    }
    formats.push_back({"Q8_0", 32, 34, decode_q8_0});
    formats.push_back({"Q4_0", 32, 18, decode_q4_0});
    formats.push_back({"Q4_K", 256, 144, decode_q4_k});
    formats.push_back({"Q6_K", 256, 210, decode_q6_k});
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
    names += &format == &element_formats().front() ? "" : &format == &element_formats().back() ? " or " : ", ";
    names += format.dtype;
  }
  return names;
}

void read_stored_bytes(const Checkpoint& checkpoint, const StoredTensor& tensor, std::uint64_t most,
                       const BytePieces& piece) {
  const PlacedTensor& place = in_files(checkpoint).placed(tensor);
  const ElementFormat* format = find_element_format(tensor.dtype);
  if (format == nullptr) {
    throw UnsupportedTensorFile(place.bytes.file + ": tensor '" + tensor.name + "': need a dtype that is read, got " +
                                tensor.dtype);
  }
  auto count = static_cast<std::uint64_t>(format->block_bytes);
  for (const std::int64_t size : tensor.shape) count *= static_cast<std::uint64_t>(size);
  count = std::min(count / static_cast<std::uint64_t>(format->block_numbers), most);
  read_bytes(place.bytes.source, place.bytes.begin, count, place.bytes.file + ": tensor '" + tensor.name + "'", piece);
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
