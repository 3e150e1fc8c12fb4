#pragma once

#include <filesystem>
#include <string>

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

}  // namespace softcheck::cli
