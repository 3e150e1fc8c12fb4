#include "judge/campaigns/worker_pool.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <system_error>

#include "proptests/engine/interrupted.hpp"

namespace softcheck::proptests {
namespace {

// Exit codes of a fork.
struct Ending {
  enum : int { done = 0, threw = 1, cannot_go_on = 2, was_interrupted = 3 };
};

// A pipe's capacity without a reader limits the message of an exception.
constexpr std::size_t longest_message = 4096;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), std::string("run_in_forks: ") + what);
}

void tell(int pipe, const char* text) {
  const std::size_t size = std::min(std::strlen(text), longest_message);
  if (write(pipe, text, size) < 0) return;  // the exit code still reports the failure
}

/// Blocks SIGCHLD, so that wait_for_child can receive it.
class ChildSignal {
 public:
  ChildSignal() {
    sigemptyset(&child_);
    sigaddset(&child_, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_, &before_);
  }
  ~ChildSignal() { restore(); }
  ChildSignal(const ChildSignal&) = delete;
  ChildSignal& operator=(const ChildSignal&) = delete;
  void restore() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  /// Waits until a child ends, another signal arrives, or a fifth of a second has passed.
  void wait_for_child() const {
    constexpr timespec fifth{0, 200'000'000};
    sigtimedwait(&child_, nullptr, &fifth);
  }

 private:
  sigset_t child_{};
  sigset_t before_{};
};

struct Running {
  std::size_t job;
  int tries;    // including the current one
  int message;  // read end of a pipe with the exception's message; children of the fork may keep the other end open
};

class Pool {
 public:
  Pool(std::size_t jobs, const std::function<void(std::size_t)>& job, const PoolOptions& options)
      : job_(job), options_(options) {
    for (std::size_t i = 0; i < jobs; ++i) waiting_.push_back({i, 0, -1});
  }
  ~Pool() { end_all(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  PoolOutcome run() {
    while (!waiting_.empty() || !running_.empty()) {
      if (options_.interrupted && options_.interrupted()) {
        outcome_.interrupted = true;
        end_all();
        break;
      }
      const bool goes_on = outcome_.stopped.empty();
      while (goes_on && !waiting_.empty() && running_.size() < options_.processes) begin();
      if (running_.empty()) break;
      signal_.wait_for_child();
      collect();
      if (options_.progress) options_.progress(outcome_.done);
    }
    std::ranges::sort(outcome_.failures, {}, &PoolOutcome::Failure::job);
    return outcome_;
  }

 private:
  void begin() {
    Running next = waiting_.front();
    waiting_.pop_front();
    ++next.tries;
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) fail("pipe2");
    const pid_t parent = getpid(), child = fork();
    if (child < 0) {
      const int error = errno;
      close(ends[0]);
      close(ends[1]);
      errno = error;
      fail("fork");
    }
    if (child == 0) work(next.job, parent, ends[1]);
    close(ends[1]);
    next.message = ends[0];
    running_.emplace(child, next);
  }

  [[noreturn]] void work(std::size_t job, pid_t parent, int message) const {
    // _exit runs no destructors and flushes no buffers that this fork copied.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(Ending::was_interrupted);
    signal_.restore();
    try {
      job_(job);
      _exit(Ending::done);
    } catch (const Interrupted&) {
      _exit(Ending::was_interrupted);
    } catch (const CannotGoOn& error) {
      tell(message, error.what());
      _exit(Ending::cannot_go_on);
    } catch (const std::exception& error) {
      tell(message, error.what());
      _exit(Ending::threw);
    }
  }

  void collect() {
    for (int status = 0;;) {
      const pid_t child = waitpid(-1, &status, WNOHANG);
      if (child <= 0) return;
      const auto found = running_.find(child);
      if (found == running_.end()) continue;
      const Running ended = found->second;
      running_.erase(found);
      std::string message(longest_message, '\0');
      const ssize_t size = read(ended.message, message.data(), message.size());
      message.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
      close(ended.message);
      take(ended, status, message);
    }
  }

  void take(const Running& ended, int status, const std::string& message) {
    const bool exited = WIFEXITED(status);
    const int code = exited ? WEXITSTATUS(status) : -1;
    if (code == Ending::done) {
      ++outcome_.done;
    } else if (code == Ending::threw) {
      outcome_.failures.push_back({ended.job, false, message});
    } else if (code == Ending::cannot_go_on) {
      if (outcome_.stopped.empty()) outcome_.stopped = message;
    } else if (ended.tries < options_.tries) {
      waiting_.push_front({ended.job, ended.tries, -1});
    } else {
      const std::string how = code == Ending::was_interrupted ? "a signal that asks it to end"
                              : exited                        ? "exit " + std::to_string(code)
                                                              : "signal " + std::to_string(WTERMSIG(status));
      outcome_.failures.push_back({ended.job, true, how});
    }
  }

  void end_all() {
    for (const auto& [child, running] : running_) kill(child, SIGKILL);
    for (const auto& [child, running] : running_) {
      while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
      }
      close(running.message);
    }
    running_.clear();
  }

  const std::function<void(std::size_t)>& job_;
  const PoolOptions& options_;
  ChildSignal signal_;
  std::deque<Running> waiting_;
  std::map<pid_t, Running> running_;
  PoolOutcome outcome_;
};

}  // namespace

PoolOutcome run_in_forks(std::size_t jobs, const std::function<void(std::size_t)>& job, const PoolOptions& options) {
  if (options.processes == 0) throw std::invalid_argument("run_in_forks: processes must be >= 1, got 0");
  if (options.tries < 1) throw std::invalid_argument("run_in_forks: tries must be >= 1");
  return Pool(jobs, job, options).run();
}

}  // namespace softcheck::proptests
