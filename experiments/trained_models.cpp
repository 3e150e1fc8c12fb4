#include "experiments/trained_models.hpp"

#include <algorithm>
#include <sstream>

#include "experiments/network_tensors.hpp"
#include "experiments/safetensors.hpp"

namespace softcheck::experiments {

TrainedModel read_model(const std::filesystem::path& path) {
  const TensorFile file = read_safetensors(path);
  const auto options = file.metadata.find("options");
  return {path.filename().string(), options == file.metadata.end() ? "" : options->second,
          parameters_of(file, path.string())};
}

std::vector<TrainedModel> read_models(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".safetensors") paths.push_back(entry.path());
  }
  if (error) throw models::TensorFileError(folder.string() + ": need a folder of models: " + error.message());
  if (paths.empty()) throw models::TensorFileError(folder.string() + ": need models, *.safetensors, found none");
  std::ranges::sort(paths);
  std::vector<TrainedModel> models;
  for (const std::filesystem::path& path : paths) models.push_back(read_model(path));
  return models;
}

std::string option_of(const TrainedModel& model, const std::string& name) {
  std::istringstream words(model.options);
  for (std::string word; words >> word;) {
    if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
  }
  return "";
}

}  // namespace softcheck::experiments
