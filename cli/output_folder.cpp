#include "cli/output_folder.hpp"

#include <fmt/format.h>

#include "cli/exit_code.hpp"
#include "library/build_info.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::cli {

OutputFolder::OutputFolder(const std::string& path) : path_(path) {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (!std::filesystem::is_directory(path_)) {
    throw InputError(usage, fmt::format("--out: need a folder that can be made, got '{}'", path));
  }
}

void OutputFolder::write(const std::string& name, const std::string& text) const {
  try {
    proptests::write_file_atomically(path_ / name, text);
  } catch (const std::exception& error) {
    throw InputError(usage, fmt::format("--out: {}", error.what()));
  }
}

std::string origin_lines(const std::string& command, const std::string& more) {
  std::string text =
      fmt::format("# softcheck {} (commit {})\n# {}\n", this_build().version, this_build().commit, command);
  return more.empty() ? text : text + "# " + more + "\n";
}

}  // namespace softcheck::cli
