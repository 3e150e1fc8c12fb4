// What a kernel's process can reach: kernels of this program attack the judge, the machine and the caller's memory, and
// say in a page that both share what they achieved.
#include "judge/sandbox/containment.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "judge/sandbox/isolated_kernel.hpp"
#include "proptests/tests/judge/our_kernels.hpp"

namespace softcheck::proptests {
namespace {

using namespace std::chrono_literals;

// Counts for ever, in a session of its own where it may have one. Returns when it counts.
void start_daemon(std::atomic<int>& counter) {
  if (fork() != 0) {
    while (counter == 0) usleep(1000);
    return;
  }
  setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  if (fork() != 0) _exit(0);
  for (;;) {
    ++counter;
    usleep(1000);
  }
}

// A living daemon counts within 50 ms, on a loaded machine within some seconds; of one that has ended 50 ms show it.
bool counts(std::atomic<int>& counter, int looks = 1) {
  const int before = counter;
  for (int look = 0; look < looks && counter == before; ++look) std::this_thread::sleep_for(50ms);
  return counter != before;
}

class EachIsolation : public ::testing::TestWithParam<Isolation> {
 protected:
  // Without a pid namespace the keeper ends a kernel's orphans because they become its children.
  static bool keeper_gets_orphans() {
    int is_subreaper = 0;
    return GetParam() == Isolation::full || prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0;
  }
  static constexpr const char* no_orphans = "qemu-user 7.2 has no PR_SET_CHILD_SUBREAPER: the keeper gets no orphans";
};

TEST_P(EachIsolation, NothingOutlivesTheKernel) {
  if (!keeper_gets_orphans()) GTEST_SKIP() << no_orphans;
  const Shared shared;
  {
    IsolatedKernel kernel(source_of([&](const softcheck_call*) {
                            start_daemon(shared[0]);
                            return 0;
                          }),
                          limits_of(GetParam()));
    ASSERT_EQ(kernel.call(one_row()).end, CallEnd::done);
    EXPECT_TRUE(counts(shared[0], 200)) << "the daemon is not there at all";
  }
  EXPECT_FALSE(counts(shared[0]));
}

TEST_P(EachIsolation, NothingOutlivesACrash) {
  if (!keeper_gets_orphans()) GTEST_SKIP() << no_orphans;
  const Shared shared;
  IsolatedKernel kernel(source_of([&](const softcheck_call*) -> int {
                          start_daemon(shared[0]);
                          _exit(3);
                        }),
                        limits_of(GetParam()));
  const TensorReply reply = kernel.call(one_row());
  EXPECT_EQ(reply.end, CallEnd::crashed);
  EXPECT_EQ(reply.death, "exit(3)");
  EXPECT_FALSE(counts(shared[0]));
}

TEST_P(EachIsolation, NoKernelHangsTheJudge) {
  for (const char* symbol :
       {"mutant_leaves_its_process_group", "mutant_leaves_a_daemon_behind", "mutant_sleeps_through_signals"}) {
    const double seconds = seconds_of([&] {
      IsolatedKernel kernel({intruders, symbol}, short_limits(GetParam()));
      EXPECT_NE(kernel.call(one_row()).end, CallEnd::done) << symbol;
    });
    EXPECT_LT(seconds, 10) << symbol;
  }
}

TEST_P(EachIsolation, AStoppedKernelTimesOut) {
  const auto stops = [](const softcheck_call*) { return raise(SIGSTOP); };
  EXPECT_EQ(own_reply(stops, one_row(), short_limits(GetParam())).end, CallEnd::timed_out);
}

TEST_P(EachIsolation, AnInterruptEndsTheCallUnderWay) {
  auto call = std::chrono::steady_clock::time_point::max() - 300ms;  // not yet: a slow machine loads for a while
  KernelLimits limits = limits_of(GetParam());
  limits.seconds_per_call = 600;
  limits.interrupted = [&] { return std::chrono::steady_clock::now() > call + 300ms; };
  IsolatedKernel kernel(source_of([](const softcheck_call*) { return pause(); }), limits);
  call = std::chrono::steady_clock::now();
  const double seconds = seconds_of([&] { EXPECT_THROW(kernel.call(one_row()), Interrupted); });
  EXPECT_LT(seconds, 60);
}

TEST_P(EachIsolation, TheNextCallAfterADeathIsAnswered) {
  const Shared shared;
  IsolatedKernel kernel(source_of([&](const softcheck_call*) {
                          if (++shared[0] % 2 == 1) abort();
                          return 7;
                        }),
                        limits_of(GetParam()));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(kernel.call(one_row()).death, "signal 6 (Aborted)");
    EXPECT_EQ(kernel.call(one_row()).refusal, 7);
  }
}

INSTANTIATE_TEST_SUITE_P(Containment, EachIsolation, ::testing::Values(Isolation::full, Isolation::process),
                         [](const auto& info) { return info.param == Isolation::full ? "Full" : "Process"; });

struct Attack {
  const char* what;
  bool may_be_shown;  // harmless where it succeeds, and it does without containment
  bool of_files;      // only a mount namespace is in its way
  std::function<bool()> succeeds;
};

std::vector<Attack> attacks_on(pid_t judge, void* memory) {
  const auto opens = [](const std::string& path) {
    const int file = open(path.c_str(), O_RDWR);
    if (file >= 0) close(file);
    return file >= 0;
  };
  const std::string proc = "/proc/" + std::to_string(judge);
  return {{"traces the judge", false, false, [=] { return ptrace(PTRACE_ATTACH, judge, nullptr, nullptr) == 0; }},
          {"traces its parent", false, false, [] { return ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr) == 0; }},
          {"writes the judge's memory", false, false,
           [=] {
             int value = 0;
             const iovec from{&value, sizeof value}, to{memory, sizeof value};
             return process_vm_writev(judge, &from, 1, &to, 1, 0) >= 0;
           }},
          {"opens the judge's memory", false, false, [=] { return opens(proc + "/mem"); }},
          {"lists the judge's files", false, false, [=] { return access((proc + "/fd/0").c_str(), F_OK) == 0; }},
          {"may signal the judge", true, false, [=] { return kill(judge, 0) == 0; }},
          {"opens a session", true, false, [] { return setsid() >= 0; }},
          {"makes a file of 2 GiB", true, false,
           [] {
             signal(SIGXFSZ, SIG_IGN);
             return ftruncate(STDOUT_FILENO, std::int64_t{2} << 30) == 0;
           }},
          {"opens a socket", true, false, [] { return socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }},
          {"sends a datagram of a pair", true, false,
           [] {
             int pair[2];
             return socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0;
           }},
          {"opens the terminal", false, false, [=] { return opens("/dev/tty"); }},
          {"becomes root", false, false, [] { return setuid(0) == 0 && geteuid() == 0; }},
          {"writes a file of the user's", false, true, [=] { return opens(SOFTCHECK_SOURCE_DIR "/README.md"); }}};
}

class Attacker {
 public:
  Attacker(Isolation isolation, bool all)
      : attacks_(attacks_on(getpid(), &judges_own_)),
        kernel_(source_of([this, all](const softcheck_call*) {
                  for (std::size_t i = 0; i < attacks_.size(); ++i) {
                    if (!all && !attacks_[i].may_be_shown) continue;
                    results_[i] = attacks_[i].succeeds() ? 1 : -1;
                  }
                  return 0;
                }),
                limits_of(isolation)) {}
  /// Of each attack, 1 where it succeeded, -1 where it failed, 0 where it was not tried.
  std::vector<int> results() {
    EXPECT_EQ(kernel_.call(one_row()).end, CallEnd::done);
    std::vector<int> results;
    for (std::size_t i = 0; i < attacks_.size(); ++i) results.push_back(results_[i]);
    return results;
  }
  const std::vector<Attack>& attacks() const { return attacks_; }
  const Containment& containment() const { return kernel_.containment(); }

 private:
  int judges_own_ = 0;
  Shared results_;
  std::vector<Attack> attacks_;
  IsolatedKernel kernel_;
};

TEST(Containment, AnAttackOnTheJudgeFails) {
  Attacker attacker(Isolation::full, true);
  const Containment& containment = attacker.containment();
  if (!containment.filter) {
    // A filter that could not be made is no reason to skip.
    ASSERT_FALSE(knows_system_calls() && prctl(PR_GET_SECCOMP) >= 0) << to_string(containment);
    GTEST_SKIP() << "no system call is refused (built without libseccomp, or run by qemu-user, which has no seccomp): "
                 << to_string(containment);
  }
  const std::vector<int> results = attacker.results();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (attacker.attacks()[i].of_files && !containment.files) continue;  // docs/security.md says so
    EXPECT_EQ(results[i], -1) << attacker.attacks()[i].what;
  }
}

TEST(Containment, WhatIsNotContainedSucceeds) {
  Attacker attacker(Isolation::process, false);
  const std::vector<int> results = attacker.results();
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i], attacker.attacks()[i].may_be_shown ? 1 : 0) << attacker.attacks()[i].what;
  }
}

// What a CUDA driver does when it starts, and every way to send something by a socket.
int sockets_of_a_device() {
  if (!refuse_system_calls(false, true)) return 2;
  sockaddr_un name{AF_UNIX, {}};
  snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "softcheck-test-%d", static_cast<int>(getpid()));
  const auto* address = reinterpret_cast<const sockaddr*>(&name);
  const int there = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), here = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  const bool starts = there >= 0 && here >= 0 && bind(there, address, sizeof name) == 0 && listen(there, 1) == 0;
  const auto refused = [](int result) { return result < 0 && errno == EPERM; };
  const bool sends_nothing = refused(socket(AF_UNIX, SOCK_STREAM, 0)) && refused(socket(AF_UNIX, SOCK_DGRAM, 0)) &&
                             refused(socket(AF_INET, SOCK_STREAM, 0)) && refused(socket(AF_INET6, SOCK_SEQPACKET, 0)) &&
                             refused(connect(here, address, sizeof name)) && refused(accept(there, nullptr, nullptr));
  return starts && sends_nothing ? 0 : 1;
}

TEST(Containment, ADevicesDriverHasSocketsThatCannotSend) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(sockets_of_a_device());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) {
    ASSERT_FALSE(knows_system_calls() && prctl(PR_GET_SECCOMP) >= 0) << "the filter could not be made";
    GTEST_SKIP() << "no system call is refused";
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Containment, TheJudgeCannotBeTracedWhileAKernelIsThere) {
  prctl(PR_SET_DUMPABLE, 1);
  {
    IsolatedKernel kernel(source_of([](const softcheck_call*) { return 0; }), limits_of());
    EXPECT_EQ(prctl(PR_GET_DUMPABLE), 0);
  }
  EXPECT_EQ(prctl(PR_GET_DUMPABLE), 1);
}

TEST(Containment, AKernelMayHaveThreadsAndTemporaryFiles) {
  const Shared shared;
  const TensorReply reply = own_reply([&](const softcheck_call*) {
    std::thread([&] { shared[0] = 1; }).join();
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
    const char* folder = std::getenv("TMPDIR");
    std::string name = std::string(folder == nullptr ? "/tmp" : folder) + "/XXXXXX";
    shared[1] = mkstemp(name.data()) >= 0 && unlink(name.c_str()) == 0;
    return 0;
  });
  EXPECT_EQ(reply.end, CallEnd::done);
  EXPECT_EQ(shared[0], 1);
  EXPECT_EQ(shared[1], 1);
}

TEST(Containment, AKernelThatRootAsksIsNobody) {
  if (geteuid() != 0) GTEST_SKIP() << "need root";
  const Shared shared;
  IsolatedKernel kernel(source_of([&](const softcheck_call*) {
                          shared[0] = static_cast<int>(geteuid());
                          return 0;
                        }),
                        limits_of());
  EXPECT_EQ(kernel.call(one_row()).end, CallEnd::done);
  if (!kernel.containment().other_user) GTEST_SKIP() << to_string(kernel.containment());
  const passwd* nobody = getpwnam("nobody");
  ASSERT_NE(nobody, nullptr);
  EXPECT_EQ(shared[0], static_cast<int>(nobody->pw_uid));
}

TEST(Containment, AReportNamesWhatWasReached) {
  EXPECT_EQ(to_string(Containment{}), "a process of its own with the judge's rights");
  Containment some;
  some.processes = some.filter = true;
  EXPECT_EQ(to_string(some), "own pid namespace, system calls filtered");
  some.driver_sockets = true;
  EXPECT_EQ(to_string(some), "own pid namespace, system calls filtered but for the driver's local sockets");
  IsolatedKernel kernel(source_of([](const softcheck_call*) { return 0; }), limits_of(Isolation::process));
  EXPECT_EQ(to_string(kernel.containment()), to_string(Containment{}));
}

}  // namespace
}  // namespace softcheck::proptests
