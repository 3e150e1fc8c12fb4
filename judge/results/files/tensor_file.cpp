#include "judge/results/files/tensor_file.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "judge/results/files/npy_file.hpp"
#include "judge/results/given_tensor.hpp"
#include "models/read/file_source.hpp"
#include "models/read/safetensors_header.hpp"

namespace softcheck::proptests {
namespace {

using models::TensorFileError;

// A regular file mapped read-only: the system reads its bytes on first access.
//
// If another program truncates the file meanwhile, an access beyond the new end raises SIGBUS.
class MappedFile {
 public:
  // throws   models::TensorFileError if the file cannot be opened, is not a regular file, or is empty;
  // std::system_error if the system provides no addresses
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const models::RegularFile file(path);
  const std::size_t size = file.size();
  void* const first = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (first == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(),
                            path.string() + ": cannot be mapped, " + std::to_string(size) + " bytes");
  }
  return std::shared_ptr<const MappedFile>(new MappedFile({static_cast<const std::byte*>(first), size}));
}

MappedFile::~MappedFile() { munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size()); }

// A tensor of a safetensors file.
struct SafetensorsTensor {
  GivenTensor tensor;  // points into the bytes
  std::string name;
  std::string dtype;  // "BF16"
};

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

// The tensor of this name, of F64, F32, F16 or BF16, or U8 or BOOL as a mask; the file's only tensor if `wanted` is
// empty. Other tensors may have any dtype, but the header is checked as strictly as by
// models::read_safetensors_header.
//
// name     of the file, for errors
// throws   models::TensorFileError
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

bool is_there(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::status(path, error));
}

// "x.npz:logits": the file is the part up to the first colon for which a file exists, as its name may contain colons.
std::pair<std::string, std::string> file_and_name(const std::string& place) {
  if (is_there(place)) return {place, ""};
  for (std::size_t colon = place.find(':'); colon != std::string::npos; colon = place.find(':', colon + 1)) {
    if (is_there(place.substr(0, colon))) return {place.substr(0, colon), place.substr(colon + 1)};
  }
  throw models::MissingTensorFile("need a file of tensors, '" + place + "' is not there");
}

// Checks that the number of elements can be counted, also if a size is 0.
void require_countable(const FileTensor& found) {
  if (found.tensor.shape.size() > most_file_dimensions) {
    throw models::TensorFileError(found.place() + ": need at most " + std::to_string(most_file_dimensions) +
                                  " dimensions, got " + std::to_string(found.tensor.shape.size()));
  }
  std::int64_t elements = 1;
  for (const std::int64_t size : found.tensor.shape) {
    if (size == 0) continue;
    if (size > (std::int64_t{1} << 56) / elements) {
      throw models::TensorFileError(found.place() + ": the sizes of its shape multiply to more than 2^56");
    }
    elements *= size;
  }
}

FileTensor read_named(const std::string& file, const std::string& name, std::optional<numerics::Format> voids) {
  const std::shared_ptr<const MappedFile> mapped = MappedFile::open(file);
  const std::string ending = std::filesystem::path(file).extension().string();
  if (ending == ".npy") {
    if (!name.empty())
      throw models::TensorFileError(file + ": a .npy file holds one array without a name, got '" + name + "'");
    NpyArray array = parse_npy(mapped->bytes(), file, voids);
    return {std::move(array.tensor), file, "", std::move(array.descr), mapped};
  }
  if (ending == ".npz") {
    NpzMember member = read_npz_member(mapped->bytes(), file, name);
    NpyArray array = parse_npy(member.bytes, file + ":" + member.name, voids);
    return {std::move(array.tensor), file, std::move(member.name), std::move(array.descr), std::move(member.holder)};
  }
  if (ending == ".safetensors") {
    SafetensorsTensor found = parse_safetensors_tensor(mapped->bytes(), file, name);
    return {std::move(found.tensor), file, std::move(found.name), std::move(found.dtype), mapped};
  }
  throw models::TensorFileError(file + ": need a file that ends in .npy, .npz or .safetensors");
}

// The names in quotes; only the first ones if there are many.
std::string list_of(std::span<const std::string> names) {
  constexpr std::size_t most = 20, longest = 100;
  std::string list;
  for (const std::string& name : names.first(std::min(most, names.size()))) {
    list += (list.empty() ? "'" : ", '") + (name.size() <= longest ? name : name.substr(0, longest) + "...") + "'";
  }
  if (names.size() > most) list += " and " + std::to_string(names.size() - most) + " more";
  return list;
}

}  // namespace

FileTensor read_tensor(const std::string& place, std::optional<numerics::Format> voids) {
  const auto [file, name] = file_and_name(place);
  FileTensor found = read_named(file, name, voids);
  require_countable(found);
  return found;
}

std::size_t place_of_name(std::span<const std::string> names, const std::string& wanted, const std::string& file) {
  if (names.empty()) throw models::TensorFileError(file + ": holds no tensor");
  if (wanted.empty() && names.size() == 1) return 0;
  const auto place = std::ranges::find(names, wanted);
  // A tensor's name may be empty.
  if (place != names.end()) return static_cast<std::size_t>(place - names.begin());
  throw models::TensorFileError(wanted.empty() ? file + ": need FILE:NAME, as it holds " +
                                                     std::to_string(names.size()) + " tensors: " + list_of(names)
                                               : file + ": holds no tensor '" + wanted + "', but " + list_of(names));
}

}  // namespace softcheck::proptests
