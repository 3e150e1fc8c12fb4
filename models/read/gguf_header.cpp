#include "models/read/gguf_header.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <type_traits>
#include <utility>

#include "models/read/file_source.hpp"
#include "models/read/gguf_cursor.hpp"
#include "models/read/placed_tensors.hpp"

namespace softcheck::models {
namespace {

constexpr std::uint32_t magic = 0x46554747;  // "GGUF"
constexpr std::uint64_t most_entries = 1'000'000, longest_name = 65'535, longest_text = std::uint64_t{1} << 20;
constexpr std::uint64_t longest_array = 65'536;
constexpr std::uint32_t most_dimensions = 4, usual_alignment = 32;

struct GgmlType {
  std::uint32_t number;
  std::string_view name;
  std::uint64_t block_numbers, block_bytes;
};

// ggml.h, ggml_type, and the block structures of ggml-common.h.
constexpr std::array<GgmlType, 33> ggml_types{
    {{0, "F32", 1, 4},         {1, "F16", 1, 2},         {2, "Q4_0", 32, 18},     {3, "Q4_1", 32, 20},
     {6, "Q5_0", 32, 22},      {7, "Q5_1", 32, 24},      {8, "Q8_0", 32, 34},     {10, "Q2_K", 256, 84},
     {11, "Q3_K", 256, 110},   {12, "Q4_K", 256, 144},   {13, "Q5_K", 256, 176},  {14, "Q6_K", 256, 210},
     {15, "Q8_K", 256, 292},   {16, "IQ2_XXS", 256, 66}, {17, "IQ2_XS", 256, 74}, {18, "IQ3_XXS", 256, 98},
     {19, "IQ1_S", 256, 50},   {20, "IQ4_NL", 32, 18},   {21, "IQ3_S", 256, 110}, {22, "IQ2_S", 256, 82},
     {23, "IQ4_XS", 256, 136}, {24, "I8", 1, 1},         {25, "I16", 1, 2},       {26, "I32", 1, 4},
     {27, "I64", 1, 8},        {28, "F64", 1, 8},        {29, "IQ1_M", 256, 56},  {30, "BF16", 1, 2},
     {34, "TQ1_0", 256, 54},   {35, "TQ2_0", 256, 66},   {39, "MXFP4", 32, 17},   {40, "NVFP4", 64, 36},
     {41, "Q1_0", 128, 18}}};

enum class ValueType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

class GgufReader {
 public:
  GgufReader(const ByteSource& source, const std::string& name)
      : cursor_(source, name), name_(name), size_(source.size) {}

  GgufHeader read() {
    read_version();
    const auto tensors = cursor_.number<std::uint64_t>("the number of tensors");
    const auto keys = cursor_.number<std::uint64_t>("the number of keys");
    // A tensor takes 24 bytes at least, a key 13: no number is taken on trust.
    require(tensors <= std::min(most_entries, cursor_.rest() / 24),
            "need room for the " + std::to_string(tensors) + " tensors of its header, the file ends too early");
    require(keys <= std::min(most_entries, cursor_.rest() / 13),
            "need room for the " + std::to_string(keys) + " keys of its header, the file ends too early");
    for (std::uint64_t i = 0; i < keys; ++i) read_key();
    for (std::uint64_t i = 0; i < tensors; ++i) read_tensor();
    place_tensors();
    return std::move(result_);
  }

 private:
  void require(bool holds, const std::string& what) const {
    if (!holds) cursor_.fail(what);
  }

  void read_version() {
    require(size_ >= 4 && cursor_.number<std::uint32_t>("the first four") == magic,
            "need a GGUF file, its first bytes are not \"GGUF\"");
    const auto version = cursor_.number<std::uint32_t>("the version");
    if (version == 2 || version == 3) return;
    const bool turned = version != 0 && version % 0x10000 == 0;
    throw UnsupportedTensorFile(name_ + ": need a little-endian GGUF file of version 2 or 3, got " +
                                (turned ? "a big-endian one" : "version " + std::to_string(version)));
  }

  void read_key() {
    const std::string key = cursor_.text("the name of a key", longest_name);
    require(!key.empty() && keys_.insert(key).second, "the key '" + key + "' comes twice or has no name");
    const auto type = cursor_.number<std::uint32_t>("the type of a value");
    if (key.starts_with("tokenizer.")) {
      skip_value(key, type);
      return;
    }
    ConfigValue value = read_value(key, type);
    if (key == "general.alignment") {
      const auto* alignment = std::get_if<std::uint64_t>(&value);
      require(alignment != nullptr && *alignment > 0 && *alignment <= INT32_MAX && (*alignment & (*alignment - 1)) == 0,
              "key 'general.alignment': need a power of two of 32 bits");
      alignment_ = *alignment;
    }
    result_.keys.emplace_back(key, std::move(value));
  }

  // Calls use with a reader of one value of a type.
  template <typename Use>
  void with_type(const std::string& key, std::uint32_t type, const Use& use) {
    const auto as = [&]<typename Read, typename Stored>(std::type_identity<Read>, std::type_identity<Stored>) {
      use([&] { return static_cast<Stored>(cursor_.number<Read>("a value")); });
    };
    using Unsigned = std::type_identity<std::uint64_t>;
    using Signed = std::type_identity<std::int64_t>;
    using Real = std::type_identity<double>;
    switch (static_cast<ValueType>(type)) {
      case ValueType::u8:
        return as(std::type_identity<std::uint8_t>{}, Unsigned{});
      case ValueType::i8:
        return as(std::type_identity<std::int8_t>{}, Signed{});
      case ValueType::u16:
        return as(std::type_identity<std::uint16_t>{}, Unsigned{});
      case ValueType::i16:
        return as(std::type_identity<std::int16_t>{}, Signed{});
      case ValueType::u32:
        return as(std::type_identity<std::uint32_t>{}, Unsigned{});
      case ValueType::i32:
        return as(std::type_identity<std::int32_t>{}, Signed{});
      case ValueType::u64:
        return as(Unsigned{}, Unsigned{});
      case ValueType::i64:
        return as(Signed{}, Signed{});
      case ValueType::f32:
        return as(std::type_identity<float>{}, Real{});
      case ValueType::f64:
        return as(Real{}, Real{});
      case ValueType::boolean:
        return use([&] { return read_boolean(key); });
      case ValueType::text:
        return use([&] { return cursor_.text("a text", longest_text); });
      case ValueType::array:
        break;
    }
    cursor_.fail("key '" + key + "': need a value of type 0 to 12, no array in an array, got type " +
                 std::to_string(type));
  }

  bool read_boolean(const std::string& key) {
    const auto byte = cursor_.number<std::uint8_t>("a value");
    require(byte <= 1, "key '" + key + "': need true or false, 1 or 0, got " + std::to_string(byte));
    return byte == 1;
  }

  static bool is_array(std::uint32_t type) { return static_cast<ValueType>(type) == ValueType::array; }

  ConfigValue read_value(const std::string& key, std::uint32_t type) {
    ConfigValue value;
    if (!is_array(type)) {
      with_type(key, type, [&](const auto& read) { value = read(); });
      return value;
    }
    const auto inner = cursor_.number<std::uint32_t>("the type of an array");
    const auto count = cursor_.number<std::uint64_t>("the length of an array");
    require(count <= longest_array, "key '" + key + "': need at most " + std::to_string(longest_array) +
                                        " values, got " + std::to_string(count));
    with_type(key, inner, [&](const auto& read) {
      std::vector<std::decay_t<decltype(read())>> values;
      for (std::uint64_t i = 0; i < count; ++i) values.push_back(read());
      value = std::move(values);
    });
    return value;
  }

  // A vocabulary has hundreds of thousands of texts: none is kept.
  void skip_value(const std::string& key, std::uint32_t type) {
    std::uint64_t count = 1;
    if (is_array(type)) {
      type = cursor_.number<std::uint32_t>("the type of an array");
      count = cursor_.number<std::uint64_t>("the length of an array");
    }
    if (static_cast<ValueType>(type) == ValueType::text) {
      for (std::uint64_t i = 0; i < count; ++i) cursor_.skip_text("a text");
      return;
    }
    constexpr std::array<std::uint64_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    require(type < sizes.size() && sizes[type] != 0,
            "key '" + key + "': need a value of type 0 to 12, no array in an array, got type " + std::to_string(type));
    require(count <= cursor_.rest(), "key '" + key + "': " + std::to_string(count) + " values exceed the file");
    cursor_.skip(count * sizes[type], "an array");
  }

  void read_tensor() {
    StoredTensor tensor{cursor_.text("the name of a tensor", longest_name), {}, {}};
    const std::string what = "tensor '" + tensor.name + "': ";
    require(!tensor.name.empty() && names_.insert(tensor.name).second, what + "comes twice or has no name");
    const auto dimensions = cursor_.number<std::uint32_t>("the number of dimensions");
    require(dimensions <= most_dimensions, what + "need at most 4 dimensions, got " + std::to_string(dimensions));
    std::uint64_t numbers = 1;
    for (std::uint32_t i = 0; i < dimensions; ++i) {
      const auto size = cursor_.number<std::uint64_t>("a dimension");
      // No product overflows: a number takes more than an eighth of a byte, and the file has not so many.
      require(size == 0 || (numbers <= 8 * size_ / size), what + "its dimensions exceed the file");
      require(size <= INT64_MAX, what + "a dimension is too large");
      numbers *= size;
      tensor.shape.push_back(static_cast<std::int64_t>(size));
    }
    std::ranges::reverse(tensor.shape);
    const auto type = cursor_.number<std::uint32_t>("the type of a tensor");
    const auto offset = cursor_.number<std::uint64_t>("the offset of a tensor");
    require(offset <= size_, what + "its offset " + std::to_string(offset) + " exceeds the file");
    const auto* known = std::ranges::find(ggml_types, type, &GgmlType::number);
    std::optional<std::uint64_t> bytes;
    if (known == ggml_types.end()) {
      tensor.dtype = "type " + std::to_string(type);
    } else {
      tensor.dtype = known->name;
      require(static_cast<std::uint64_t>(tensor.columns()) % known->block_numbers == 0,
              what + "rows of " + std::to_string(tensor.columns()) + " numbers are no whole blocks of " + tensor.dtype);
      bytes = numbers / known->block_numbers * known->block_bytes;
    }
    placed_.push_back({{std::move(tensor), offset}, bytes});
  }

  std::uint64_t aligned(std::uint64_t at) const { return (at + alignment_ - 1) / alignment_ * alignment_; }

  void place_tensors() {
    std::ranges::stable_sort(placed_, {}, [](const Placed& placed) { return placed.entry.begin; });
    const std::uint64_t data = aligned(cursor_.position());
    require(placed_.empty() || data <= size_, "the file ends before its tensors");
    std::uint64_t expected = 0, end = 0;
    bool known_end = true;
    for (Placed& placed : placed_) {
      const std::uint64_t begin = placed.entry.begin;
      require(begin % alignment_ == 0 && (known_end ? begin == expected : begin >= expected),
              "tensor '" + placed.entry.tensor.name + "': need its offset to be " + std::to_string(expected) +
                  (known_end ? "" : " or larger") + ", a multiple of " + std::to_string(alignment_) + ", got " +
                  std::to_string(begin));
      known_end = placed.bytes.has_value();
      end = begin + placed.bytes.value_or(0);
      expected = aligned(end);
      require(end <= size_ - data, "tensor '" + placed.entry.tensor.name + "' ends at byte " + std::to_string(end) +
                                       " of the data, the file at " + std::to_string(size_ - data));
      placed.entry.begin += data;
      result_.tensors.push_back(std::move(placed.entry));
    }
    require(
        !known_end || size_ <= data || size_ - data <= expected,
        "the tensors end at byte " + std::to_string(end) + " of the data, the file at " + std::to_string(size_ - data));
  }

  struct Placed {
    GgufEntry entry;  // begin still counts from the first byte of the data
    std::optional<std::uint64_t> bytes;
  };

  GgufCursor cursor_;
  const std::string& name_;
  std::uint64_t size_;
  std::uint64_t alignment_ = usual_alignment;
  std::set<std::string> keys_, names_;
  std::vector<Placed> placed_;
  GgufHeader result_;
};

}  // namespace

GgufHeader read_gguf_header(const ByteSource& source, const std::string& name) {
  return GgufReader(source, name).read();
}

std::unique_ptr<Checkpoint> open_gguf(const std::filesystem::path& file) {
  const std::string name = file.string();
  const ByteSource source = open_file_source(file);
  GgufHeader header = read_gguf_header(source, name);
  Config config = Config::of_values(header.keys, name);
  const std::int64_t parts = config.integer("split.count").value_or(1);
  if (parts > 1) {
    throw UnsupportedTensorFile(name + ": need one GGUF file, got one of " + std::to_string(parts) +
                                ": merge them with llama-gguf-split");
  }
  if (config.text("general.type").value_or("model") == "adapter") {
    throw UnsupportedTensorFile(name + ": need a model, got an adapter: merge it into its model");
  }
  TensorPlaces places;
  for (GgufEntry& entry : header.tensors) {
    std::string tensor = entry.tensor.name;
    places.emplace(std::move(tensor), PlacedTensor{std::move(entry.tensor), {source, name, entry.begin}, {}});
  }
  return std::make_unique<PlacedTensors>(name, "gguf", std::move(config), std::move(places));
}

}  // namespace softcheck::models
