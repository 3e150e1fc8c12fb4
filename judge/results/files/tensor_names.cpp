#include "judge/results/files/tensor_names.hpp"

#include <algorithm>

#include "models/read/safetensors_header.hpp"

namespace softcheck::proptests {
namespace {

// Each name in quotes; of many the first ones.
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

std::size_t place_of_name(std::span<const std::string> names, const std::string& wanted, const std::string& file) {
  if (names.empty()) throw models::TensorFileError(file + ": holds no tensor");
  if (wanted.empty() && names.size() == 1) return 0;
  const auto place = std::ranges::find(names, wanted);
  // A tensor may have the empty name.
  if (place != names.end()) return static_cast<std::size_t>(place - names.begin());
  throw models::TensorFileError(wanted.empty() ? file + ": need FILE:NAME, as it holds " +
                                                     std::to_string(names.size()) + " tensors: " + list_of(names)
                                               : file + ": holds no tensor '" + wanted + "', but " + list_of(names));
}

}  // namespace softcheck::proptests
