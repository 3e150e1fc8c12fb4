#include "cli/language_models.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "experiments/sha256.hpp"

namespace softcheck::cli {

namespace fs = std::filesystem;
using namespace experiments;

fs::path language_folder() { return model_folder().parent_path() / "language"; }

std::vector<LanguageModel> language_models_in(const std::string& flag, const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (fs::exists(entry.path() / "model.safetensors")) paths.push_back(entry.path());
  }
  if (error) throw InputError(malformed, fmt::format("{}: {}: need a folder: {}", flag, folder, error.message()));
  if (paths.empty()) {
    throw InputError(malformed, fmt::format("{}: {}: need folders with a model.safetensors, found none", flag, folder));
  }
  std::ranges::sort(paths);
  std::vector<LanguageModel> models;
  try {
    for (const fs::path& path : paths) models.push_back(read_language_model(path));
  } catch (const models::TensorFileError& wrong) {
    throw InputError(malformed, fmt::format("{}: {}", flag, wrong.what()));
  }
  return models;
}

std::string hashes_of_language(const std::string& folder, const std::vector<LanguageModel>& models) {
  std::string text = "models (sha256):";
  for (const LanguageModel& model : models) {
    text += fmt::format(" {} {}", model.name, sha256_of_file(fs::path(folder) / model.name / "model.safetensors"));
  }
  return text;
}

}  // namespace softcheck::cli
