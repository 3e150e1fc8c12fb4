#include "cli/run_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "cli/exit_code.hpp"
#include "cli/places.hpp"
#include "experiments/safetensors.hpp"
#include "experiments/sha256.hpp"
#include "library/build_info.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::cli {

namespace fs = std::filesystem;
using namespace experiments;

OutputFolder::OutputFolder(const std::string& path) : path_(path) {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (!std::filesystem::is_directory(path_)) {
    throw InputError(usage, fmt::format("--out: need a folder that can be made, got '{}'", path));
  }
}

void OutputFolder::write(const std::string& name, const std::string& text) const {
  as_input_error<std::exception>(usage, "--out: ", [&] { proptests::write_file_atomically(path_ / name, text); });
}

std::string origin_lines(const std::string& command, const std::string& more) {
  std::string text =
      fmt::format("# softcheck {} (commit {})\n# {}\n", this_build().version, this_build().commit, command);
  return more.empty() ? text : text + "# " + more + "\n";
}

std::string hashes_of(const std::string& folder, const std::vector<TrainedModel>& models) {
  std::string text = "models (sha256):";
  for (const TrainedModel& model : models) {
    text += fmt::format(" {} {}", model.name, sha256_of_file(std::filesystem::path(folder) / model.name));
  }
  return text;
}

std::string name_of(const std::string& path) {
  const fs::path normal = fs::absolute(path).lexically_normal();
  return (normal.has_filename() ? normal : normal.parent_path()).filename().string();
}

std::string hashes_of_files(const std::string& model, const std::string& tokens) {
  std::vector<fs::path> files;
  if (!fs::is_directory(model)) {
    files.emplace_back(model);
  } else {
    for (const auto& entry : fs::directory_iterator(model)) {
      if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
    }
    std::ranges::sort(files);
  }
  if (!tokens.empty()) files.emplace_back(tokens);
  std::string text = "models (sha256):";
  for (const fs::path& file : files) text += fmt::format(" {} {}", file.filename().string(), sha256_of_file(file));
  return text;
}

namespace fs = std::filesystem;

std::vector<TrainedModel> models_in(const std::string& flag, const std::string& folder) {
  return as_input_error<models::TensorFileError>(malformed, flag + ": ", [&] { return read_models(folder); });
}

TrainedModel network_in(const std::string& path, const std::string& needed) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    throw InputError(usage, fmt::format("model: need {}, '{}' is not there", needed, path));
  }
  TrainedModel model = as_input_error<models::TensorFileError>(malformed, "", [&] { return read_model(path); });
  const std::string head = option_of(model, "head");
  if (head.empty() || head == "softmax") return model;
  throw InputError(unsupported, fmt::format("{}: need a network with softmax attention, its head is {}", path, head));
}

AttentionKernels attention_kernels() {
  return as_input_error<std::runtime_error>(
      unsupported, "", [] { return AttentionKernels(kernel_folder() / "libsoftcheck_cpu_kernels.so"); });
}

}  // namespace softcheck::cli
