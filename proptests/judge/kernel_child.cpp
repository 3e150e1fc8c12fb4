#include "proptests/judge/kernel_child.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cfenv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

#include "kernels/abi/softcheck_kernel.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#define SOFTCHECK_SHADOW_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SOFTCHECK_SHADOW_MEMORY 1
#endif
#endif

namespace softcheck::proptests {
namespace {

using numerics::Format;

enum class Loaded : std::int32_t { ok, not_a_library, no_such_symbol };

struct LoadMessage {
  Loaded loaded = Loaded::ok;
  std::array<char, 400> text{};
};

struct CallMessage {
  std::uint64_t number = 0;  // the request's: a message that the kernel sends itself does not hold it
  std::int32_t returned = 0;
  std::int32_t environment_changed = 0;
};

// Rounding mode, exception masks, flush-to-zero and denormals-are-zero, and the x87 unit's precision and rounding; not
// the sticky flags.
unsigned control_bits() {
#if defined(__x86_64__)
  unsigned short x87 = 0;
  __asm__ volatile("fnstcw %0" : "=m"(x87));
  return (_mm_getcsr() & ~0x3fu) << 16 | x87;
#elif defined(__aarch64__)
  std::uint64_t fpcr = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
  return static_cast<unsigned>(fpcr);
#else
  return static_cast<unsigned>(std::fegetround());
#endif
}

DLDataType dlpack_type(Format format) {
  switch (format) {
    case Format::f64:
      return {kDLFloat, 64, 1};
    case Format::f32:
      return {kDLFloat, 32, 1};
    case Format::f16:
      return {kDLFloat, 16, 1};
    case Format::bf16:
      return {kDLBfloat, 16, 1};
    default:
      throw std::invalid_argument("kernel: dtype must be f64, f32, f16 or bf16");
  }
}

// A tensor and the shape and strides that it points to.
struct Tensor {
  std::array<std::int64_t, 2> shape;
  std::array<std::int64_t, 2> strides;
  DLTensor tensor{};

  Tensor(void* data, DLDataType type, std::array<std::int64_t, 2> shape_, std::array<std::int64_t, 2> strides_,
         std::int64_t offset, int dimensions = 2)
      : shape(shape_), strides(strides_) {
    const std::int64_t bytes = offset * type.bits / 8;
    tensor.data = data == nullptr ? nullptr : static_cast<std::byte*>(data) - bytes;
    tensor.byte_offset = static_cast<std::uint64_t>(bytes);
    tensor.device = {kDLCPU, 0};
    tensor.ndim = dimensions;
    tensor.dtype = type;
    tensor.shape = shape.data();
    // NULL means compact: half of the kernels forget it, so it is what a compact tensor passes.
    const bool compact = strides[1] == 1 && strides[0] == shape[1];
    tensor.strides = compact || dimensions == 1 ? nullptr : strides.data();
  }
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
};

CallMessage answer(softcheck_kernel kernel, const ChildRequest& request) {
  const std::array<std::int64_t, 2> shape{request.rows, request.columns};
  const std::array<std::int64_t, 2> strides{request.row_stride, request.column_stride};
  Tensor input(request.input_data, dlpack_type(request.input), shape, strides, request.offset);
  Tensor mask(request.mask_data, {kDLUInt, 8, 1}, shape, {request.columns, 1}, 0);
  Tensor output = request.row_scalar
                      ? Tensor(request.output_data, dlpack_type(request.output), {request.rows, 1}, {1, 1}, 0, 1)
                      : Tensor(request.output_data, dlpack_type(request.output), shape, strides, request.offset);
  const DLTensor* const inputs[] = {&input.tensor, &mask.tensor};
  DLTensor* const outputs[] = {&output.tensor};
  softcheck_call call{};
  call.abi_version = SOFTCHECK_KERNEL_ABI_VERSION;
  call.n_inputs = request.mask_data == nullptr ? 1 : 2;
  call.n_outputs = 1;
  call.inputs = inputs;
  call.outputs = outputs;
  call.theta = request.theta;
  call.scale = 1;
  CallMessage message;
  const unsigned before = control_bits();
  message.returned = kernel(&call);
  message.environment_changed = control_bits() != before;
  return message;
}

template <class Message>
void send_message(int socket, const Message& message) {
  ssize_t sent = -1;
  do sent = send(socket, &message, sizeof message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent != sizeof message) _exit(0);
}

// The child: never returns. noexcept, so that an exception which crosses the C boundary ends it.
[[noreturn]] void serve(int socket, const KernelSource& source) noexcept {
  LoadMessage loaded;
  void* library = dlopen(source.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = library == nullptr ? nullptr : dlsym(library, source.symbol.c_str());
  if (symbol == nullptr) {
    loaded.loaded = library == nullptr ? Loaded::not_a_library : Loaded::no_such_symbol;
    const char* text = dlerror();
    std::snprintf(loaded.text.data(), loaded.text.size(), "%s", text == nullptr ? "" : text);
  }
  send_message(socket, loaded);
  if (symbol == nullptr) _exit(0);
  const auto kernel = reinterpret_cast<softcheck_kernel>(symbol);
  ChildRequest request;
  for (;;) {
    const ssize_t got = recv(socket, &request, sizeof request, 0);
    if (got < 0 && errno == EINTR) continue;  // a timer that the kernel left behind
    if (got != sizeof request) _exit(0);
    CallMessage message = answer(kernel, request);
    message.number = request.number;
    send_message(socket, message);
  }
}

void limit_resources(const KernelLimits& limits) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
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

// What the kernel may reach: nothing to read from, a file of its own to print to, and the socket.
int isolate_descriptors(int socket, int printed) {
  // Out of the way of 0 to 3, which a judge without standard streams may have given them.
  socket = fcntl(socket, F_DUPFD, 4);
  printed = fcntl(printed, F_DUPFD, 4);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, 0);
  dup2(printed, 1);
  dup2(printed, 2);
  const int kept = 3;
  dup2(socket, kept);
  close_range(kept + 1, ~0u, 0);
  return kept;
}

}  // namespace

KernelChild::KernelChild(const KernelSource& source, const KernelLimits& limits)
    : seconds_per_call_(limits.seconds_per_call) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw std::system_error(errno, std::generic_category(), "KernelChild: socketpair");
  }
  printed_ = memfd_create("kernel-output", MFD_CLOEXEC);
  if (printed_ < 0) {
    const int error = errno;
    close(sockets[0]);
    close(sockets[1]);
    throw std::system_error(error, std::generic_category(), "KernelChild: memfd_create");
  }
  std::fflush(nullptr);  // else an exit() in the child prints the judge's pending output a second time
  const pid_t judge = getpid();
  pid_ = fork();
  if (pid_ < 0) {
    const int error = errno;
    close(sockets[0]);
    close(sockets[1]);
    close(printed_);
    throw std::system_error(error, std::generic_category(), "KernelChild: fork");
  }
  if (pid_ == 0) {
    setpgid(0, 0);  // what the kernel starts dies with it
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != judge) _exit(0);
    // Worker threads of a library are none of the judge's business; one is enough to compute the right values.
    setenv("OMP_NUM_THREADS", "1", 0);
    limit_resources(limits);
    serve(isolate_descriptors(sockets[1], printed_), source);
  }
  setpgid(pid_, pid_);  // here too: whichever of the two comes first
  close(sockets[1]);
  socket_ = sockets[0];
  wait_for_library(source);
}

KernelChild::~KernelChild() {
  if (pid_ > 0) {
    stop();
    reap();
  }
  close(socket_);
  close(printed_);
}

void KernelChild::stop() const { kill(-pid_, SIGKILL); }

namespace {

enum class Received { message, death, timeout };

template <class Message>
Received receive(int socket, double seconds, Message& message) {
  using Clock = std::chrono::steady_clock;
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd wait{socket, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(std::max<long long>(0, left)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return Received::timeout;
    const ssize_t got = recv(socket, &message, sizeof message, MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    return got == sizeof message ? Received::message : Received::death;
  }
}

}  // namespace

void KernelChild::wait_for_library(const KernelSource& source) {
  LoadMessage loaded;
  // Ten calls' time: a library may read a large table or start a run-time system as it loads.
  const Received received = receive(socket_, 10 * seconds_per_call_, loaded);
  if (received == Received::message && loaded.loaded == Loaded::ok) return;
  if (received == Received::timeout) stop();
  const std::string death = reap();
  using Reason = KernelLoadError::Reason;
  close(socket_);
  close(printed_);
  if (received == Received::timeout) {
    throw KernelLoadError(Reason::died_while_loading, "kernel: " + source.library + " did not finish loading");
  }
  if (received == Received::death) {
    throw KernelLoadError(Reason::died_while_loading, "kernel: " + source.library + " died while loading: " + death);
  }
  const std::string text(loaded.text.data());
  if (loaded.loaded == Loaded::no_such_symbol) {
    throw KernelLoadError(Reason::no_such_symbol,
                          "kernel: " + source.library + " has no symbol '" + source.symbol + "' (need extern \"C\")");
  }
  throw KernelLoadError(Reason::not_a_library, "kernel: not a loadable library: " + text);
}

std::string KernelChild::reap() {
  // A child whose channel has ended is about to end. One that closed it, or wrote to it, and lives on is stopped.
  bool stopped = false;
  for (int waited = 0;; ++waited) {
    siginfo_t ended{};
    const int failed = waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT | (stopped ? 0 : WNOHANG));
    if (failed != 0 && errno == EINTR) continue;
    if (failed != 0 || ended.si_pid == pid_) break;
    if (waited == 1000) {
      stop();
      stopped = true;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  stop();  // what the kernel has started, while its group's number cannot be another's
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (stopped) return "closing the judge's channel, or writing to it";
  if (WIFSIGNALED(status)) {
    return "signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  }
  return "exit(" + std::to_string(WEXITSTATUS(status)) + ")";
}

ChildReply KernelChild::call(ChildRequest request) {
  request.number = ++calls_ * 0x9e3779b97f4a7c15u;  // odd multiples of 2^64's golden section: all different, none small
  ChildReply reply;
  CallMessage message;
  Received received = Received::death;
  ssize_t sent = -1;
  do sent = send(socket_, &request, sizeof request, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent == sizeof request) received = receive(socket_, seconds_per_call_, message);
  if (received == Received::message && message.number != request.number) received = Received::death;
  if (received == Received::message) {
    reply.end = message.returned == 0 ? CallEnd::done : CallEnd::refused;
    reply.returned = message.returned;
    reply.environment_changed = message.environment_changed != 0;
    return reply;
  }
  if (received == Received::timeout) stop();
  reply.end = received == Received::timeout ? CallEnd::timed_out : CallEnd::crashed;
  reply.death = reap();
  if (received == Received::timeout) reply.death = "no answer within " + std::to_string(seconds_per_call_) + " s";
  return reply;
}

std::size_t KernelChild::printed_bytes() const {
  const off_t bytes = lseek(printed_, 0, SEEK_END);
  return bytes < 0 ? 0 : static_cast<std::size_t>(bytes);
}

}  // namespace softcheck::proptests
