#include "judge/sandbox/containment.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "judge/sandbox/process_keeper.hpp"

namespace softcheck::proptests {
namespace {

// Debian's user "nobody", which is the Linux kernel's overflow uid.
constexpr uid_t nobody = 65534;

bool write_text(const char* path, std::string_view text) {
  const Descriptor file(open(path, O_WRONLY | O_CLOEXEC));
  return file.number() >= 0 && write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Maps the judge's ids to themselves; their rights end with the namespace.
void keep_ids(uid_t user, gid_t group) {
  const std::string user_text = std::to_string(user), group_text = std::to_string(group);
  write_text("/proc/self/setgroups", "deny");
  write_text("/proc/self/uid_map", user_text + " " + user_text + " 1");
  write_text("/proc/self/gid_map", group_text + " " + group_text + " 1");
}

// mount_setattr needs glibc 2.36 and Linux 5.12.
bool make_read_only() {
#if defined(SYS_mount_setattr)
  struct Attributes {
    std::uint64_t set, clear, propagation, user_namespace;
  };
  constexpr std::uint64_t read_only = 1;  // MOUNT_ATTR_RDONLY
  constexpr unsigned recursive = 0x8000;  // AT_RECURSIVE
  const Attributes attributes{read_only, 0, 0, 0};
  return syscall(SYS_mount_setattr, AT_FDCWD, "/", recursive, &attributes, sizeof attributes) == 0;
#else
  return false;
#endif
}

// Sets the effective and permitted capabilities; the others cannot be used without an exec.
bool keep_capabilities(std::uint32_t kept) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  data[0].effective = data[0].permitted = kept;
  return syscall(SYS_capset, &header, data.data()) == 0;
}

// Keeps the right to read files: the library, and files that it loads, may lie in folders that only root can read.
bool become_nobody() {
  constexpr std::uint32_t read_files = 1u << CAP_DAC_READ_SEARCH;
  prctl(PR_SET_KEEPCAPS, 1);
  if (setgroups(0, nullptr) != 0 || setresgid(nobody, nobody, nobody) != 0 || setresuid(nobody, nobody, nobody) != 0) {
    return false;
  }
  return keep_capabilities(read_files) || keep_capabilities(0);
}

void limit(__rlimit_resource resource, rlim_t most) {
  rlimit now{};
  if (getrlimit(resource, &now) != 0) return;
  const rlim_t value = std::min(most, now.rlim_max);
  const rlimit lower{value, value};
  setrlimit(resource, &lower);
}

// Far more than a kernel and its thread pools need, but not enough to bring the machine down.
void limit_resources() {
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NPROC, 8192);
  limit(RLIMIT_NOFILE, 4096);
  limit(RLIMIT_FSIZE, rlim_t{1} << 30);
}

}  // namespace

std::string to_string(const Containment& containment) {
  std::string text;
  const auto add = [&](bool reached, std::string_view words) {
    if (reached) text += (text.empty() ? "" : ", ") + std::string(words);
  };
  add(containment.processes, "own pid namespace");
  add(containment.proc, "own /proc");
  add(containment.files, "files read-only");
  add(containment.network, "no network");
  add(containment.user_namespace, "own user namespace");
  add(containment.other_user, "another user");
  add(containment.no_capabilities, "no capabilities");
  add(containment.filter && !containment.driver_sockets, "system calls filtered");
  add(containment.filter && containment.driver_sockets, "system calls filtered but for the driver's local sockets");
  return text.empty() ? "a process of its own with the judge's rights" : text;
}

Containment enter_namespaces() {
  constexpr int most = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC;
  constexpr int least = CLONE_NEWPID | CLONE_NEWNS;
  const uid_t user = geteuid();
  const gid_t group = getegid();
  // The id maps in /proc/self belong to root while the process is not dumpable.
  prctl(PR_SET_DUMPABLE, 1);
  Containment reached;
  for (const int wanted : {most, CLONE_NEWUSER | most, least, CLONE_NEWUSER | least}) {
    if (unshare(wanted) != 0) continue;
    reached.processes = true;
    reached.network = (wanted & CLONE_NEWNET) != 0;
    reached.user_namespace = (wanted & CLONE_NEWUSER) != 0;
    if (reached.user_namespace) keep_ids(user, group);
    break;
  }
  prctl(PR_SET_DUMPABLE, 0);
  return reached;
}

void close_file_systems(Containment& containment) {
  if (!containment.processes) return;
  // Keeps the following mounts out of the judge's mount namespace.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return;
  containment.files = make_read_only();
  constexpr unsigned long plain = MS_NOSUID | MS_NODEV;
  // For the shared memory of run-time systems, and for temporary files.
  if (mount("tmpfs", "/dev/shm", "tmpfs", plain, "mode=1777,size=25%") == 0) setenv("TMPDIR", "/dev/shm", 1);
  // Hides the user's terminal, which any process of the same user may write to.
  mount("tmpfs", "/dev/pts", "tmpfs", plain | MS_RDONLY, "mode=755,size=4k");
  containment.proc = mount("proc", "/proc", "proc", plain | MS_NOEXEC, nullptr) == 0;
}

void give_up_rights(Containment& containment, bool driver_sockets) {
  limit_resources();
  if (geteuid() == 0 && !containment.user_namespace) {
    containment.other_user = containment.no_capabilities = become_nobody();
  } else {
    containment.no_capabilities = keep_capabilities(0);
  }
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0);
  containment.driver_sockets = driver_sockets;
  containment.filter = refuse_system_calls(!containment.processes, driver_sockets);
}

}  // namespace softcheck::proptests
