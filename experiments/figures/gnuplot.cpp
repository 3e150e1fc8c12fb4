#include "experiments/figures/gnuplot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <system_error>

namespace softcheck::experiments {
namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

// A file without a name: the child may fill its output while we have not read yet, which would block a pipe.
File scratch() {
  File file(std::tmpfile());
  if (!file) throw std::system_error(errno, std::generic_category(), "gnuplot: no temporary file");
  return file;
}

std::string contents(std::FILE* file) {
  std::string text;
  std::array<char, 1 << 16> buffer;
  std::rewind(file);
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file)) text.append(buffer.data(), count);
  return text;
}

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  void redirect(std::FILE* file, int to) { posix_spawn_file_actions_adddup2(&actions_, fileno(file), to); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) == -1) {
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "gnuplot: waitpid");
  }
  return status;
}

std::string run(const std::string& script) {
  const File in = scratch(), out = scratch(), errors = scratch();
  std::fwrite(script.data(), 1, script.size(), in.get());
  std::rewind(in.get());
  FileActions actions;
  actions.redirect(in.get(), STDIN_FILENO);
  actions.redirect(out.get(), STDOUT_FILENO);
  actions.redirect(errors.get(), STDERR_FILENO);
  // Without the user's own settings, and without the number format of the user's language.
  std::array<std::string, 2> words{"gnuplot", "--default-settings"};
  std::array<char*, 3> arguments{words[0].data(), words[1].data(), nullptr};
  constexpr const char* missing = "need gnuplot to draw (Debian: gnuplot-nox): {}";
  pid_t child = 0;
  if (const int error = posix_spawnp(&child, "gnuplot", actions.get(), nullptr, arguments.data(), environ)) {
    throw GnuplotMissing(fmt::format(missing, std::strerror(error)));
  }
  const int status = wait_for(child);
  // POSIX lets a child that cannot start the program end with 127 instead: it does so if qemu makes vfork a fork.
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) throw GnuplotMissing(fmt::format(missing, "it did not start"));
  std::string words_of_error = contents(errors.get());
  if (status != 0 || !words_of_error.empty()) {
    std::ranges::replace(words_of_error, '\n', ' ');
    throw std::runtime_error(fmt::format("gnuplot failed: {}", words_of_error));
  }
  return contents(out.get());
}

// Thin grey axes and a faint grid behind the data, legends without a box.
constexpr const char* preamble = R"(
set encoding utf8
set decimalsign '.'
set datafile separator comma
set datafile columnheaders
set border 3 linecolor rgb '#555555'
set tics nomirror out
set grid linecolor rgb '#e4e4e4' linewidth 1 linetype 1
set key noautotitle reverse Left samplen 2
)";

std::string script_of(const Picture& picture, const std::string& terminal) {
  return fmt::format("set terminal {}\n{}{}", terminal, preamble, picture.script);
}

}  // namespace

std::string to_svg(const Picture& picture) {
  std::string svg = run(script_of(
      picture, fmt::format("svg size {},{} dynamic standalone font 'DejaVu Sans,Arial,sans-serif,14' background "
                           "'#ffffff' name {}",
                           picture.width, picture.height, quoted(picture.name))));
  // A heat map is an image of one pixel a cell, which browsers would blur.
  constexpr std::string_view image = "<image ", sharp = "<image style='image-rendering:pixelated' ";
  for (std::size_t at = svg.find(image); at != std::string::npos; at = svg.find(image, at + sharp.size())) {
    svg.replace(at, image.size(), sharp);
  }
  return svg;
}

std::string to_png(const Picture& picture) {
  return run(script_of(picture, fmt::format("pngcairo size {},{} fontscale 2 linewidth 2 pointscale 2 font "
                                            "'DejaVu Sans,14' background '#ffffff'",
                                            2 * picture.width, 2 * picture.height)));
}

std::string data_block(const std::string& name, const std::string& csv) {
  return fmt::format("${} << END_OF_DATA\n{}END_OF_DATA\n", name, csv);
}

const char* code_of(Colour colour) {
  static constexpr std::array codes{"#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#000000"};
  return codes[static_cast<std::size_t>(colour)];
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

}  // namespace softcheck::experiments
