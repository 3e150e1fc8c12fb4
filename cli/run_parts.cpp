#include "cli/run_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "experiments/sha256.hpp"

namespace softcheck::cli {

namespace fs = std::filesystem;
using namespace experiments;

std::vector<std::vector<SizeMeasure>> measure(const std::vector<TrainedModel>& models,
                                              const EvaluationOptions& options) {
  const AttentionKernels attention = attention_kernels();
  Progress progress;
  std::vector<std::vector<SizeMeasure>> seeds;
  for (std::size_t m = 0; m < models.size(); ++m) {
    seeds.push_back(evaluate(models[m].parameters, m + 1, attention, options, [&](double done) {
      progress.show(fmt::format("{} ({} of {}): {:.0f} %", models[m].name, m + 1, models.size(), 100 * done));
      return true;
    }));
  }
  return seeds;
}

LanguageKernels language_kernels() {
  return as_input_error<std::runtime_error>(
      unsupported, "", [] { return LanguageKernels(kernel_folder() / "libsoftcheck_cpu_kernels.so"); });
}

fs::path language_folder() { return model_folder().parent_path() / "language"; }
fs::path learnt_language_folder() { return model_folder().parent_path() / "learnt"; }

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
  return as_input_error<models::TensorFileError>(malformed, flag + ": ", [&] {
    std::vector<LanguageModel> models;
    for (const fs::path& path : paths) models.push_back(read_language_model(path));
    return models;
  });
}

std::string hashes_of_language(const std::string& folder, const std::vector<LanguageModel>& models) {
  std::string text = "models (sha256):";
  for (const LanguageModel& model : models) {
    text += fmt::format(" {} {}", model.name, sha256_of_file(fs::path(folder) / model.name / "model.safetensors"));
  }
  return text;
}

void publish_figure(const Figure& figure, const OutputFolder& folder, const std::string& origin) {
  std::string written;
  for (const Table& table : figure.tables) {
    folder.write(table.name + ".csv", origin + table.csv);
    written += fmt::format("{}{}.csv", written.empty() ? "" : ", ", table.name);
  }
  for (const Picture& picture : figure.pictures) {
    try {
      folder.write(picture.name + ".svg", to_svg(picture));
      folder.write(picture.name + ".png", to_png(picture));
    } catch (const GnuplotMissing& missing) {
      throw InputError(unsupported,
                       fmt::format("{}; in {} without a picture: {}", missing.what(), folder.path().string(), written));
    }
  }
  for (const Picture& picture : figure.pictures) written += fmt::format(", {0}.svg, {0}.png", picture.name);
  say("in {}: {}\n", folder.path().string(), written);
}

}  // namespace softcheck::cli
