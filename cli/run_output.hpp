#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "experiments/figures/gnuplot.hpp"
#include "experiments/trained_models.hpp"

namespace softcheck::cli {

/// The folder that --out names, made where it is not there.
class OutputFolder {
 public:
  /// throws   InputError when it cannot be made
  explicit OutputFolder(const std::string& path);

  /// Writes beside the file and renames.
  /// throws   InputError when it cannot be written
  void write(const std::string& name, const std::string& text) const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// What made a file, as lines that begin with "# ": version, commit, the command that makes it again, and what else.
std::string origin_lines(const std::string& command, const std::string& more = "");

/// "models (sha256): NAME HASH ...": check the files with sha256sum.
std::string hashes_of(const std::string& folder, const std::vector<experiments::TrainedModel>& models);

/// Writes the tables as CSV, origin first, then the pictures as SVG and PNG, and prints what is where: the data are
/// there even when nothing can draw them.
///
/// throws   InputError when gnuplot is missing
void publish_figure(const experiments::Figure& figure, const OutputFolder& folder, const std::string& origin);

}  // namespace softcheck::cli
