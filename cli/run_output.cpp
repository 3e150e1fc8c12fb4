#include "cli/run_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/exit_code.hpp"
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

}  // namespace softcheck::cli
