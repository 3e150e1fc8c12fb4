#include "judge/certification/extracted_judge.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

extern char** environ;

namespace softcheck::proptests {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail_to_ask(const std::filesystem::path& program, const std::string& why) {
  throw JudgeUnavailable("the extracted judge '" + program.string() + "' " + why);
}

struct FileCloser {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using TemporaryFile = std::unique_ptr<std::FILE, FileCloser>;

TemporaryFile file_of(const std::filesystem::path& program, const std::string& text) {
  TemporaryFile file(std::tmpfile());
  if (!file) fail_to_ask(program, std::string("has no file for its questions: ") + std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  if (!written || std::fflush(file.get()) != 0) fail_to_ask(program, "has no file for its questions");
  std::rewind(file.get());
  return file;
}

// Extracted functions recurse once per item of a row. While this object lives, new processes get a stack for rows of a
// million items.
class LargeStack {
 public:
  LargeStack() {
    if (::getrlimit(RLIMIT_STACK, &before_) != 0) return;
    rlimit large = before_;
    large.rlim_cur = std::max(before_.rlim_cur, std::min<rlim_t>(before_.rlim_max, rlim_t{1} << 30));
    ::setrlimit(RLIMIT_STACK, &large);
  }
  ~LargeStack() { ::setrlimit(RLIMIT_STACK, &before_); }
  LargeStack(const LargeStack&) = delete;
  LargeStack& operator=(const LargeStack&) = delete;

 private:
  rlimit before_{RLIM_INFINITY, RLIM_INFINITY};
};

struct Started {
  pid_t process;
  int answers;  // read end of its output
};

Started started(const std::filesystem::path& program, std::FILE* questions) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail_to_ask(program, std::string("has no pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ::fileno(questions), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const std::string name = program.string();
  const std::array<char*, 2> arguments{const_cast<char*>(name.c_str()), nullptr};
  Started result{0, ends[0]};
  const LargeStack stack;
  const int error = ::posix_spawn(&result.process, name.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error == 0) return result;
  ::close(ends[0]);
  fail_to_ask(program, std::string("does not start: ") + std::strerror(error));
}

// The output until the process ends; nothing if an answer takes too long.
std::optional<std::string> printed_by(int answers, double seconds) {
  std::string text;
  std::array<char, 4096> buffer;
  const auto patience = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  Clock::time_point deadline = Clock::now() + patience;
  while (true) {
    pollfd ready{answers, POLLIN, 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int found = ::poll(&ready, 1, left > 0 ? static_cast<int>(left) : 0);
    if (found < 0 && errno == EINTR) continue;
    if (found <= 0) return std::nullopt;
    const ssize_t count = ::read(answers, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    deadline = Clock::now() + patience;
  }
}

}  // namespace

ExtractedJudge::ExtractedJudge(std::filesystem::path program, double seconds)
    : program_(std::move(program)), seconds_(seconds) {}

bool ExtractedJudge::exists() const { return ::access(program_.c_str(), X_OK) == 0; }

std::vector<bool> ExtractedJudge::ask(const std::string& lines) const {
  const TemporaryFile questions = file_of(program_, lines);
  const Started judge = started(program_, questions.get());
  const std::optional<std::string> text = printed_by(judge.answers, seconds_);
  ::close(judge.answers);
  if (!text) ::kill(judge.process, SIGKILL);
  int status = 0;
  while (::waitpid(judge.process, &status, 0) < 0 && errno == EINTR) {
  }
  if (!text)
    fail_to_ask(program_, "took longer than " + std::to_string(static_cast<long>(seconds_)) + " s for one answer");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_to_ask(program_, "could not read a question");
  std::vector<bool> verdicts;
  std::istringstream words(*text);
  for (std::string word; words >> word;) {
    if (word != "violated" && word != "not_violated") fail_to_ask(program_, "answered '" + word + "'");
    verdicts.push_back(word == "violated");
  }
  return verdicts;
}

}  // namespace softcheck::proptests
