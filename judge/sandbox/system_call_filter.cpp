#include "judge/sandbox/containment.hpp"

#if defined(SOFTCHECK_HAS_SECCOMP)

#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <memory>
#include <type_traits>

namespace softcheck::proptests {
namespace {

using Filter = std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, void (*)(scmp_filter_ctx)>;

// Looked up by name: skips calls that this libseccomp does not know.
constexpr const char* refused[] = {
    // other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease", "kcmp", "pidfd_open",
    "pidfd_getfd", "pidfd_send_signal", "perf_event_open", "setsid", "setpgid",
    // other views of the system
    "mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
    "mount_setattr", "unshare", "setns", "open_by_handle_at", "sethostname", "setdomainname", "swapon", "swapoff",
    "reboot", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "acct", "syslog",
    "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "quotactl", "vhangup",
    // other machines, and interfaces that open files past the filter
    "connect", "accept", "accept4", "io_uring_setup", "io_uring_enter", "io_uring_register", "bpf", "userfaultfd",
    "keyctl", "add_key", "request_key"};
constexpr const char* refused_without_driver[] = {"socket", "bind", "listen"};

bool add(const Filter& filter, const char* name) {
  const int number = seccomp_syscall_resolve_name(name);
  if (number < 0) return true;
  const int failed = seccomp_rule_add_exact_array(filter.get(), SCMP_ACT_ERRNO(EPERM), number, 0, nullptr);
  return failed == 0 || failed == -EDOM;
}

bool add(const Filter& filter, const char* name, const scmp_arg_cmp& when) {
  return seccomp_rule_add_array(filter.get(), SCMP_ACT_ERRNO(EPERM), seccomp_syscall_resolve_name(name), 1, &when) == 0;
}

// clone makes threads, and with one of these flags a namespace.
bool add_clone(const Filter& filter) {
  bool done = true;
  for (const scmp_datum_t flag :
       {CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP}) {
    done &= add(filter, "clone", {0, SCMP_CMP_MASKED_EQ, flag, flag});
  }
  // A filter cannot read clone3's flags, which lie in memory. With ENOSYS the C library falls back to clone.
  const int clone3 = seccomp_syscall_resolve_name("clone3");
  return done && (clone3 < 0 || seccomp_rule_add_array(filter.get(), SCMP_ACT_ERRNO(ENOSYS), clone3, 0, nullptr) == 0);
}

// The shell would take text pushed into a terminal as the user's typing.
bool add_terminals(const Filter& filter) {
  bool done = true;
  for (const scmp_datum_t request : {TIOCSTI, TIOCSCTTY, TIOCLINUX}) {
    done &= add(filter, "ioctl", {1, SCMP_CMP_MASKED_EQ, 0xffffffff, request});
  }
  return done;
}

// Allows only types that must connect before they send: a local datagram socket, even one of a pair, can send to any
// other by name.
bool add_types_but(const Filter& filter, const char* call, std::initializer_list<int> allowed) {
  bool done = true;
  constexpr int types = 0xf;  // the other bits are SOCK_CLOEXEC and SOCK_NONBLOCK
  for (int type = 0; type <= types; ++type) {
    const auto number = static_cast<scmp_datum_t>(type);
    if (std::ranges::find(allowed, type) == allowed.end())
      done &= add(filter, call, {1, SCMP_CMP_MASKED_EQ, types, number});
  }
  return done;
}

bool add_sockets_but_drivers(const Filter& filter) {
  return add(filter, "socket", {0, SCMP_CMP_NE, AF_UNIX, 0}) && add_types_but(filter, "socket", {SOCK_SEQPACKET});
}

// Allows signals only to the process itself: abort() and raise() send those.
bool add_signals(const Filter& filter) {
  const scmp_datum_t own = static_cast<scmp_datum_t>(getpid());
  bool done = add(filter, "tkill");
  for (const char* name : {"kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"}) {
    done &= add(filter, name, {0, SCMP_CMP_NE, own, 0});
  }
  return done;
}

}  // namespace

bool knows_system_calls() { return true; }

bool refuse_system_calls(bool no_other_process, bool driver_sockets) {
  const Filter filter(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  if (!filter) return false;
  // Loading a filter needs no rights after the process has given up gaining new ones.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  bool done = true;
  for (const char* name : refused) done &= add(filter, name);
  done &= add_types_but(filter, "socketpair", {SOCK_STREAM, SOCK_SEQPACKET});
  if (driver_sockets) {
    done &= add_sockets_but_drivers(filter);
  } else {
    for (const char* name : refused_without_driver) done &= add(filter, name);
  }
  done &= add_clone(filter) && add_terminals(filter) && (!no_other_process || add_signals(filter));
  return done && seccomp_load(filter.get()) == 0;
}

}  // namespace softcheck::proptests

#else

namespace softcheck::proptests {

bool knows_system_calls() { return false; }

bool refuse_system_calls(bool, bool) { return false; }

}  // namespace softcheck::proptests

#endif
