#include "judge/results/files/tensor_file.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "judge/results/files/mapped_file.hpp"
#include "judge/results/files/npy_file.hpp"
#include "judge/results/files/safetensors_tensor.hpp"
#include "models/read/safetensors_header.hpp"

namespace softcheck::proptests {
namespace {

using models::TensorFileError;

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
