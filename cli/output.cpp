#include "cli/output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/exit_code.hpp"

namespace softcheck::cli {
namespace {

// Does the file have the text?
enum class Written { unwanted, yes, no };

Written write(const std::string& flag, const std::string& path, const std::string& text) {
  if (path.empty()) return Written::unwanted;
  try {
    proptests::write_file_atomically(path, text);
    return Written::yes;
  } catch (const std::exception& error) {
    complain("softcheck: {}: {}\n", flag, error.what());
    return Written::no;
  }
}

}  // namespace

std::string unwritable(const std::string& text) {
  std::error_code error;
  const std::filesystem::path path(text);
  if (std::filesystem::is_directory(path, error)) return fmt::format("need a file, got the folder '{}'", text);
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, error)) {
    return fmt::format("need a file in a folder that exists, got '{}'", text);
  }
  return "";
}

void add_output_flags(Verb verb, OutputFlags& flags) {
  verb.add_option("--json", flags.json, "Write the report as JSON to FILE; -: to standard output, in the table's place",
                  typed("FILE"), checked(unwritable));
  verb.add_option("--junit", flags.junit, "Write the report as JUnit XML to FILE, or -", typed("FILE"),
                  checked(unwritable));
}

int publish(const proptests::Report& report, const OutputFlags& flags, std::string_view closing) {
  const std::string table = proptests::to_table(report, {.colour = wants_colour(), .verbose = flags.verbose});
  return publish(
      fmt::format("{}{}\n", table, closing), report.verdict(),
      {{"--json", flags.json, proptests::to_json(report)}, {"--junit", flags.junit, proptests::to_junit(report)}});
}

int publish(std::string_view text, proptests::ReportVerdict verdict, const std::vector<OutputFile>& files) {
  const auto is_output = [](const OutputFile& file) { return file.path == "-"; };
  if (std::ranges::none_of(files, is_output)) say_text(text);
  bool any_lost = false;
  for (const OutputFile& file : files) {
    if (is_output(file)) {
      say_text(file.text);
      continue;
    }
    const Written written = write(file.flag, file.path, file.text);
    if (written == Written::yes && file.has_report) forgive_lost_output();
    any_lost |= written == Written::no;
  }
  const int code = proptests::exit_code(verdict);
  // A printed failure keeps its code. A pass does not, if its report is lost.
  return code == holds && any_lost ? usage : code;
}

bool wants_colour() {
  // Users turn colour off by NO_COLOR (no-color.org).
  return isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { show(""); }

void Progress::show(std::string_view text) {
  // To the start of the line, the text, then erase the rest of the line (ECMA-48).
  if (terminal_) complain("\r{:.100}\033[K", text);
}

void prepare_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // open returns the lowest free descriptor, which is this one. Standard output and error are open for reading, so
    // each write fails.
    if (open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) != descriptor) return;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

void say_text(std::string_view text) {
  if (std::ferror(stdout) != 0) return;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  complain("softcheck: standard output is lost: {}\n", std::strerror(errno));
}

void complain_text(std::string_view text) {
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), stderr);
  if (written != text.size()) std::clearerr(stderr);  // there is no other place to report it
}

bool has_lost_output() { return std::ferror(stdout) != 0; }

void forgive_lost_output() { std::clearerr(stdout); }

}  // namespace softcheck::cli
