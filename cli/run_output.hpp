#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/attention_kernels.hpp"
#include "experiments/trained_models.hpp"

namespace softcheck::cli {

/// The folder that --out names, created if it does not exist.
class OutputFolder {
 public:
  /// throws   InputError when it cannot be created
  explicit OutputFolder(const std::string& path);

  /// Writes a temporary file in the folder and renames it.
  /// throws   InputError when it cannot be written
  void write(const std::string& name, const std::string& text) const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The origin of a file, as lines that begin with "# ": version, commit, the command that makes it again, and more.
std::string origin_lines(const std::string& command, const std::string& more = "");

/// "models (sha256): NAME HASH ...": check the files with sha256sum.
std::string hashes_of(const std::string& folder, const std::vector<experiments::TrainedModel>& models);

/// The last name of a path.
std::string name_of(const std::string& path);

/// The same of a checkpoint's files of weights, and of a file of ids unless its path is "".
std::string hashes_of_files(const std::string& model, const std::string& tokens);

/// The models of the folder that a flag names.
/// throws   InputError that begins with the flag
std::vector<experiments::TrainedModel> models_in(const std::string& flag, const std::string& folder);

/// The max-retrieval network in a file, which has softmax attention.
///
/// needed   the words after "need" in the error, if there is no file
/// throws   InputError
experiments::TrainedModel network_in(const std::string& path, const std::string& needed);

/// This project's attention kernels.
/// throws   InputError when their library is missing
experiments::AttentionKernels attention_kernels();

}  // namespace softcheck::cli
