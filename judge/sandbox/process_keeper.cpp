#include "judge/sandbox/process_keeper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

namespace softcheck::proptests {
namespace {

using namespace std::chrono_literals;

// How long to wait for a process that cannot be killed because it is inside a system call.
constexpr auto patience = 2s;

// Undoes what the judge's program blocks or catches, so that the keeper and the kernel start with default signals.
void reset_signals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
}

// Detaches from the judge's terminal and its keyboard signals, but stays in the session: Linux schedules sessions in
// groups, and with separate groups the judge and the kernel, which wait for each other, would lose time on a busy
// machine.
void leave_terminal() {
  setpgid(0, 0);
  const Descriptor terminal(open("/dev/tty", O_RDWR | O_CLOEXEC));
  if (terminal.number() >= 0) ioctl(terminal.number(), TIOCNOTTY);
}

void die_with(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // 0: in its own pid namespace a process does not see its parent.
  const pid_t now = getppid();
  if (now != parent && now != 0) _exit(0);
}

void kill_children() {
  const std::string path = "/proc/self/task/" + std::to_string(getpid()) + "/children";
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return;
  for (int child = 0; std::fscanf(file, "%d", &child) == 1;) kill(child, SIGKILL);
  std::fclose(file);
}

// Reports how the kernel's process ended. When the first process of a pid namespace ends, all others end, too.
[[noreturn]] void watch(int result, Containment containment, const std::function<void(Containment)>& start) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  close_file_systems(containment);
  const pid_t watcher = getpid();
  const pid_t kernel = fork();
  if (kernel == 0) {
    die_with(watcher);
    close(result);
    start(containment);
    _exit(0);
  }
  dup2(result, 0);  // so that the kernel's channel closes when the kernel's process ends
  close_range(1, ~0u, 0);
  EndMessage end;
  while (kernel > 0) {
    const pid_t ended = waitpid(-1, &end.status, 0);
    if (ended < 0 && errno != EINTR) break;
    end.known = ended == kernel;
    if (end.known) break;
  }
  if (!containment.processes) end_children(false);
  if (write(0, &end, sizeof end) != sizeof end) _exit(1);
  _exit(0);
}

EndMessage wait_for_end(int control, int result, pid_t judge) {
  pollfd wait[] = {{control, POLLIN, 0}, {result, POLLIN, 0}};
  // Also poll for the judge's death: another child of its program may keep the judge's side of the socket open.
  while (getppid() == judge && poll(wait, 2, 1000) <= 0) {
  }
  EndMessage end;
  // Any event on the control socket means that the judge is done.
  if (wait[1].revents == 0 || read(result, &end, sizeof end) != sizeof end) return {};
  return end;
}

}  // namespace

void end_children(bool all) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < deadline) {
    if (all) {
      kill(-1, SIGKILL);
    } else {
      kill_children();
    }
    const pid_t ended = waitpid(-1, nullptr, WNOHANG);
    if (ended < 0 && errno == ECHILD) return;
    if (ended == 0) std::this_thread::sleep_for(200us);
  }
}

void keep_process(int control, Isolation isolation, const std::function<void(Containment)>& start) noexcept {
  const pid_t judge = getppid();
  reset_signals();
  leave_terminal();
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const Containment containment = isolation == Isolation::full ? enter_namespaces() : Containment{};
  int results[2];
  if (pipe2(results, O_CLOEXEC) != 0) _exit(1);
  const pid_t keeper = getpid();
  const pid_t watcher = fork();
  if (watcher == 0) {
    die_with(keeper);
    close(results[0]);
    close(control);
    watch(results[1], containment, start);
  }
  // Move them above 0 and 1, which they may have if the judge has no standard streams.
  control = fcntl(control, F_DUPFD, 2);
  const int result = fcntl(results[0], F_DUPFD, 2);
  dup2(control, 0);
  dup2(result, 1);
  close_range(2, ~0u, 0);
  const EndMessage end = wait_for_end(0, 1, judge);
  if (watcher > 0) kill(watcher, SIGKILL);
  end_children(false);
  if (send(0, &end, sizeof end, MSG_NOSIGNAL) != sizeof end) _exit(1);
  _exit(0);
}

}  // namespace softcheck::proptests
