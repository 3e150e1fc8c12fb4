#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <stdexcept>

#include "judge/sandbox/call_page.hpp"
#include "judge/sandbox/device_tensors.hpp"
#include "judge/sandbox/kernel_child.hpp"
#include "judge/sandbox/process_keeper.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define SOFTCHECK_SHADOW_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SOFTCHECK_SHADOW_MEMORY 1
#endif
#endif

namespace softcheck::proptests {
namespace {

using Kind = ServerMessage::Kind;
using Kernel = std::function<int(const softcheck_call*)>;

// The kernel's process has four descriptors: /dev/null as stdin, a file as stdout and stderr, and this channel.
constexpr int channel = 3;

// A device fault ends the process, like a CPU fault: no later call could succeed in it.
template <class Step>
auto on_device(Step step) {
  try {
    return step();
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "CUDA: %s\n", error.what());
    std::abort();
  }
}

ServerMessage answer(const Kernel& kernel, const ChildRequest& request, CallPage& page, OpenPages& pages,
                     DeviceTensors* device) {
  pages.open(request);
  ServerMessage message;
  message.kind = Kind::answered;
  message.number = request.number;
  std::optional<ChildRequest> staged;
  if (device != nullptr) {
    staged = on_device([&] { return device->stage(request); });
    if (!staged) {
      message.kind = Kind::no_memory;
      return message;
    }
  }
  const softcheck_call* call = page.write(staged ? *staged : request);
  const EnvironmentBits before = environment_bits();
  const int returned = kernel(call);
  const EnvironmentBits after = environment_bits();
  message.returned = returned;
  message.environment_changed = after != before;
  if (device != nullptr) on_device([&] { device->fetch(); });
  return message;
}

void send_message(const ServerMessage& message) {
  ssize_t sent = -1;
  do sent = send(channel, &message, sizeof message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent != sizeof message) _exit(0);
}

ChildRequest next_request() {
  ChildRequest request;
  for (;;) {
    const ssize_t got = recv(channel, &request, sizeof request, 0);
    if (got < 0 && errno == EINTR) continue;  // interrupted by a timer that the kernel set
    if (got != sizeof request) _exit(0);
    return request;
  }
}

// Returns the kernel, or null with the reason in `loaded`.
Kernel load(const KernelSource& source, ServerMessage& loaded) {
  loaded.kind = Kind::loaded;
  if (source.callable) return source.callable;
  const EnvironmentBits before = environment_bits();
  void* library = dlopen(source.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = library == nullptr ? nullptr : dlsym(library, source.symbol.c_str());
  loaded.environment_changed = environment_bits() != before;
  if (symbol != nullptr) return reinterpret_cast<softcheck_kernel>(symbol);
  loaded.kind = library == nullptr ? Kind::not_a_library : Kind::no_such_symbol;
  const char* text = dlerror();
  std::snprintf(loaded.text.data(), loaded.text.size(), "%s", text == nullptr ? "" : text);
  return {};
}

// Number of entries in a folder of /proc; 0 if it does not exist.
int count_entries(const char* path) {
  DIR* folder = opendir(path);
  if (folder == nullptr) return 0;
  int count = 0;
  while (const dirent* entry = readdir(folder)) count += entry->d_name[0] != '.' ? 1 : 0;
  closedir(folder);
  return count;
}

// A library that has started threads or opened descriptors must be loaded anew in each process: a fork lacks the other
// threads, and shares the state of descriptors, most often of a device or an event queue.
bool can_be_forked() {
  const int descriptors = count_entries("/proc/self/fd") - 1;  // the folder's own
  return count_entries("/proc/self/task") == 1 && descriptors == channel + 1;
}

[[noreturn]] void serve(const Kernel& kernel, DeviceTensors* device = nullptr) {
  CallPage page;
  OpenPages pages;
  for (;;) {
    const ChildRequest request = next_request();
    if (request.number == resume) _exit(0);
    send_message(answer(kernel, request, page, pages, device));
  }
}

// Reports the death of each process, and forks the next one on request. Needs a pid namespace: it kills all that a dead
// process left there before the next one begins.
[[noreturn]] void serve_from_forks(const Kernel& kernel) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (;;) {
    std::signal(SIGCHLD, SIG_DFL);  // the library may ignore SIGCHLD
    const pid_t loader = getpid();
    const pid_t process = fork();
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != loader) _exit(0);
      serve(kernel);
    }
    ServerMessage death;
    death.kind = Kind::died;
    pid_t ended = -1;
    do ended = waitpid(-1, &death.status, 0);
    while (process > 0 && ended != process && (ended > 0 || errno == EINTR));
    end_children(true);
    send_message(death);
    while (next_request().number != resume) {
    }
    ServerMessage ready;
    ready.kind = Kind::ready;
    send_message(ready);
  }
}

void limit_memory(const KernelLimits& limits) {
#if !defined(SOFTCHECK_SHADOW_MEMORY)  // the sanitizer's shadow memory is mapped address space
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  const rlim_t bytes =
      static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + limits.additional_memory;
  const rlimit memory{bytes, bytes};
  setrlimit(RLIMIT_AS, &memory);
#else
  static_cast<void>(limits);
#endif
}

// The kernel's descriptors: /dev/null to read, a file to print to, and the socket.
void isolate_descriptors(int socket, int printed) {
  // Move them above 0 to 3, which they may have if the judge has no standard streams.
  socket = fcntl(socket, F_DUPFD, channel + 1);
  printed = fcntl(printed, F_DUPFD, channel + 1);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, 0);
  dup2(printed, 1);
  dup2(printed, 2);
  dup2(socket, channel);
  close_range(channel + 1, ~0u, 0);
}

}  // namespace

void serve_kernel(int socket, int printed, const KernelSource& source, const KernelLimits& limits,
                  Containment containment) noexcept {
  // The judge does not need a library's worker threads: one thread computes the same values.
  setenv("OMP_NUM_THREADS", "1", 0);
  // Unbuffered, so that output appears with the call that printed it.
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  isolate_descriptors(socket, printed);
  // CUDA reserves more addresses than the machine has memory.
  if (source.device == Device::cpu) limit_memory(limits);
  if (limits.isolation == Isolation::full) give_up_rights(containment, source.device == Device::cuda);
  // A change of the user clears the parent-death signal, so set it again.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  ServerMessage contained;
  contained.kind = Kind::contained;
  contained.containment = containment;
  send_message(contained);
  ServerMessage loaded;
  const Kernel kernel = load(source, loaded);
  std::optional<DeviceTensors> device;
  if (kernel && source.device == Device::cuda) {
    try {
      device.emplace();
    } catch (const std::runtime_error& error) {
      loaded.kind = Kind::no_device;
      std::snprintf(loaded.text.data(), loaded.text.size(), "%s", error.what());
      send_message(loaded);
      _exit(0);
    }
  }
  // A device context does not survive a fork.
  loaded.forks = containment.processes && !device && can_be_forked();
  send_message(loaded);
  if (!kernel) _exit(0);
  if (loaded.forks) serve_from_forks(kernel);
  serve(kernel, device ? &*device : nullptr);
}

}  // namespace softcheck::proptests
