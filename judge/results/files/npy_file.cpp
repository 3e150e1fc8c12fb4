#include "judge/results/files/npy_file.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <string_view>

#include "judge/results/files/tensor_file.hpp"
#include "models/read/safetensors_header.hpp"

namespace softcheck::proptests {
namespace {

using models::TensorFileError;
using numerics::Format;

constexpr std::string_view npy_magic = "\x93NUMPY";
// After the magic and two bytes of version comes the header's length.
constexpr std::size_t npy_length_at = 8;
// NumPy itself refuses headers of more than 10,000 bytes unless max_header_size is given.
constexpr std::size_t largest_npy_header = 1 << 16;

struct NpyDtype {
  std::optional<Format> format;  // nothing: integers, or a mask
  std::uint64_t bytes = 1;
  unsigned integer_bits = 0;
};

// The header's dictionary.
struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

[[noreturn]] void refuse_npy(const std::string& name, const std::string& what) {
  throw models::TensorFileError(name + ": " + what);
}

std::string shortened(std::string_view text) {
  constexpr std::size_t longest = 200;
  return text.size() <= longest ? std::string(text) : std::string(text.substr(0, longest)) + "...";
}

// Parses a Python literal like {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, and nothing more of Python.
class NpyHeaderParser {
 public:
  NpyHeaderParser(std::string_view text, const std::string& name) : text_(text), left_(text), name_(name) {}

  NpyHeader parse() {
    NpyHeader header;
    std::set<std::string> keys;
    expect('{');
    while (!take('}')) {
      const std::string key = quoted();
      expect(':');
      if (!keys.insert(key).second) fail("has the key '" + key + "' twice");
      if (key == "descr") {
        if (next() == '[') fail_dtype();
        header.descr = quoted();
      } else if (key == "fortran_order") {
        header.fortran_order = truth();
      } else if (key == "shape") {
        header.shape = shape();
      } else {
        fail("has the key '" + shortened(key) + "'; need descr, fortran_order and shape");
      }
      if (!take(',') && next() != '}') fail("is no dictionary");
    }
    if (keys.size() != 3) fail("lacks a key; need descr, fortran_order and shape");
    skip_blanks();
    if (!left_.empty()) fail("goes on behind its dictionary");
    return header;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    refuse_npy(name_, "the .npy header " + what + ": " + shortened(text_));
  }
  [[noreturn]] void fail_dtype() const {
    refuse_npy(name_, "need an array of numbers, got a structured dtype: " + shortened(text_));
  }

  void skip_blanks() {
    const std::size_t first = left_.find_first_not_of(" \n");
    left_.remove_prefix(first == std::string_view::npos ? left_.size() : first);
  }
  char next() {
    skip_blanks();
    return left_.empty() ? '\0' : left_.front();
  }
  bool take(char character) {
    if (next() != character) return false;
    left_.remove_prefix(1);
    return true;
  }
  void expect(char character) {
    if (!take(character)) fail(std::string("is no dictionary of NumPy's, where '") + character + "' is due");
  }

  std::string quoted() {
    const char quote = next();
    const std::size_t end = quote == '\'' || quote == '"' ? left_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) fail("is no dictionary of NumPy's, where a text is due");
    const std::string_view inner = left_.substr(1, end - 1);
    if (inner.find('\\') != std::string_view::npos) fail("has an escape in a text");
    left_.remove_prefix(end + 1);
    return std::string(inner);
  }

  bool truth() {
    skip_blanks();
    for (const std::string_view word : {std::string_view("True"), std::string_view("False")}) {
      if (!left_.starts_with(word)) continue;
      left_.remove_prefix(word.size());
      return word == "True";
    }
    fail("needs True or False as fortran_order");
  }

  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> sizes;
    expect('(');
    bool comma = true;
    while (!take(')')) {
      if (!comma) fail("has a shape that is no tuple");
      if (sizes.size() == most_file_dimensions) fail("has a shape of more than 64 dimensions");
      sizes.push_back(size());
      comma = take(',');
    }
    // In Python (3) is a number, not a tuple.
    if (sizes.size() == 1 && !comma) fail("has a shape that is no tuple");
    return sizes;
  }

  std::int64_t size() {
    skip_blanks();
    std::int64_t value = -1;
    const char* const end = left_.data() + left_.size();
    const auto [rest, error] = std::from_chars(left_.data(), end, value);
    if (error != std::errc() || value < 0) fail("needs a shape of non-negative integers below 2^63");
    left_.remove_prefix(static_cast<std::size_t>(rest - left_.data()));
    return value;
  }

  std::string_view text_, left_;
  const std::string& name_;
};

// NumPy has no names for ml_dtypes' types and stores them as raw bytes; one of 8 bits also as "f1".
bool is_void(const std::string& descr) {
  return descr.size() == 3 && (descr[0] == '|' || descr[0] == '<') && (descr[1] == 'V' || descr.substr(1) == "f1") &&
         (descr[2] == '1' || descr[2] == '2');
}

NpyDtype npy_dtype(const std::string& descr, const std::string& name, std::optional<Format> voids) {
  if (descr == "<f8") return {Format::f64, 8};
  if (descr == "<f4") return {Format::f32, 4};
  if (descr == "<f2") return {Format::f16, 2};
  if (descr == "|u1" || descr == "|b1") return {std::nullopt, 1};
  if (descr == "<i4") return {std::nullopt, 4, 32};
  if (descr == "<i8") return {std::nullopt, 8, 64};
  if (is_void(descr)) {
    const std::size_t bytes = descr[2] == '1' ? 1 : 2;
    const int bits = voids && *voids != Format::f16 ? numerics::properties(*voids).storage_bits : 0;
    if (static_cast<std::size_t>(bits) == 8 * bytes) return {voids, bytes};
    std::string needed, stored;
    for (const Format format : numerics::all_formats()) {
      const numerics::FormatProperties& p = numerics::properties(format);
      if (static_cast<std::size_t>(p.storage_bits) != 8 * bytes || format == Format::f16) continue;
      needed += (needed.empty() ? "" : " or ") + std::string(p.name);
      stored += (stored.empty() ? "" : " and ") + std::string(p.array_name);
    }
    refuse_npy(name, "need --dtype " + needed + " to read '" + descr + "': elements of " +
                         (bytes == 2 ? "two bytes" : "one byte") + ", as ml_dtypes stores " + stored);
  }
  const bool big = descr.size() == 3 && descr[0] == '>';
  refuse_npy(name,
             "need dtype '<f8', '<f4', '<f2', '<i8', '<i4', '|u1', '|b1' or, with --dtype, '|V2' or '|V1', got '" +
                 shortened(descr) + "'" +
                 (big ? ", which is big endian: array.astype('<" + descr.substr(1) + "') is not" : ""));
}

std::vector<std::int64_t> npy_strides(const NpyHeader& header) {
  std::vector<std::int64_t> strides(header.shape.size());
  // Without elements strides do not matter, and the product of the other sizes may overflow.
  if (std::ranges::find(header.shape, 0) != header.shape.end()) return strides;
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    const std::size_t axis = header.fortran_order ? i : strides.size() - 1 - i;
    strides[axis] = stride;
    stride *= header.shape[axis];
  }
  return strides;
}

std::string npy_shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

// Checks that the data has exactly the shape's size. Compares each partial product with the file's size, so none
// overflows.
void require_npy_size(const NpyHeader& header, std::uint64_t element, std::uint64_t there, const std::string& name) {
  const bool is_empty = std::ranges::find(header.shape, 0) != header.shape.end();
  std::uint64_t bytes = is_empty ? 0 : element;
  for (const std::int64_t size : header.shape) {
    if (is_empty) break;
    if (static_cast<std::uint64_t>(size) > there / bytes) {
      refuse_npy(name, "holds " + std::to_string(there) + " bytes of data, fewer than shape " +
                           npy_shape_text(header.shape) + " of '" + header.descr + "' needs");
    }
    bytes *= static_cast<std::uint64_t>(size);
  }
  if (bytes == there) return;
  refuse_npy(name, "holds " + std::to_string(there) + " bytes of data, shape " + npy_shape_text(header.shape) +
                       " of '" + header.descr + "' needs " + std::to_string(bytes));
}

}  // namespace

NpyArray parse_npy(std::span<const std::byte> bytes, const std::string& name, std::optional<Format> voids) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(npy_magic) || text.size() < npy_length_at) {
    refuse_npy(name, "need a .npy file, which begins with '\\x93NUMPY' and a version");
  }
  const int major = std::to_integer<int>(bytes[6]), minor = std::to_integer<int>(bytes[7]);
  if (major < 1 || major > 3 || minor != 0) {
    refuse_npy(name, "need a .npy file of version 1.0, 2.0 or 3.0, got " + std::to_string(major) + "." +
                         std::to_string(minor));
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  if (bytes.size() < npy_length_at + length_bytes) refuse_npy(name, "ends within the .npy header's length");
  std::size_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) {
    length = length << 8 | std::to_integer<std::size_t>(bytes[npy_length_at + i]);
  }
  const std::size_t begin = npy_length_at + length_bytes;
  const std::size_t most = std::min(largest_npy_header, bytes.size() - begin);
  if (length > most) {
    refuse_npy(name, "need a .npy header of at most " + std::to_string(most) + " bytes, its length says " +
                         std::to_string(length));
  }
  const NpyHeader header = NpyHeaderParser(text.substr(begin, length), name).parse();
  const NpyDtype dtype = npy_dtype(header.descr, name, voids);
  const std::span<const std::byte> data = bytes.subspan(begin + length);
  require_npy_size(header, dtype.bytes, data.size(), name);
  return {GivenTensor{data.data(), dtype.format, header.shape, npy_strides(header), dtype.integer_bits}, header.descr};
}

}  // namespace softcheck::proptests
