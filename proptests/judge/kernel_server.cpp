#include "proptests/judge/kernel_server.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cfenv>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <stdexcept>

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

// Shape and strides stay in the request.
DLTensor dlpack_tensor(ChildTensor& from) {
  DLTensor tensor{};
  tensor.data = from.data == nullptr ? nullptr : static_cast<std::byte*>(from.data) - from.byte_offset;
  tensor.byte_offset = static_cast<std::uint64_t>(from.byte_offset);
  tensor.device = {kDLCPU, 0};
  tensor.ndim = from.dimensions;
  tensor.dtype = from.is_mask ? DLDataType{kDLUInt, 8, 1} : dlpack_type(from.format);
  tensor.shape = from.shape.data();
  tensor.strides = from.compact ? nullptr : from.strides.data();
  return tensor;
}

using Kernel = std::function<int(const softcheck_call*)>;

CallMessage answer(const Kernel& kernel, ChildRequest& request) {
  std::array<DLTensor, most_inputs> input_tensors;
  std::array<DLTensor, most_outputs> output_tensors;
  std::array<const DLTensor*, most_inputs> inputs{};
  std::array<DLTensor*, most_outputs> outputs{};
  for (std::size_t i = 0; i < request.n_inputs; ++i) {
    input_tensors[i] = dlpack_tensor(request.inputs[i]);
    inputs[i] = &input_tensors[i];
  }
  for (std::size_t i = 0; i < request.n_outputs; ++i) {
    output_tensors[i] = dlpack_tensor(request.outputs[i]);
    outputs[i] = &output_tensors[i];
  }
  softcheck_call call{};
  call.abi_version = SOFTCHECK_KERNEL_ABI_VERSION;
  call.n_inputs = request.n_inputs;
  call.n_outputs = request.n_outputs;
  call.inputs = inputs.data();
  call.outputs = outputs.data();
  call.theta = request.theta;
  call.scale = request.scale;
  call.causal = request.causal;
  CallMessage message;
  message.number = request.number;
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

// The kernel, or nothing and why it cannot be called.
Kernel load(const KernelSource& source, LoadMessage& loaded) {
  if (source.callable) return source.callable;
  void* library = dlopen(source.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* symbol = library == nullptr ? nullptr : dlsym(library, source.symbol.c_str());
  if (symbol != nullptr) return reinterpret_cast<softcheck_kernel>(symbol);
  loaded.loaded = library == nullptr ? Loaded::not_a_library : Loaded::no_such_symbol;
  const char* text = dlerror();
  std::snprintf(loaded.text.data(), loaded.text.size(), "%s", text == nullptr ? "" : text);
  return {};
}

[[noreturn]] void serve(int socket, const KernelSource& source) {
  LoadMessage loaded;
  const Kernel kernel = load(source, loaded);
  send_message(socket, loaded);
  if (!kernel) _exit(0);
  ChildRequest request;
  for (;;) {
    const ssize_t got = recv(socket, &request, sizeof request, 0);
    if (got < 0 && errno == EINTR) continue;  // a timer that the kernel left behind
    if (got != sizeof request) _exit(0);
    send_message(socket, answer(kernel, request));
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

void serve_kernel(int socket, int printed, const KernelSource& source, const KernelLimits& limits) noexcept {
  // What the judge, or a sanitizer in it, does about its own faults says nothing of the kernel's.
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPIPE}) std::signal(number, SIG_DFL);
  // Worker threads of a library are none of the judge's business; one is enough to compute the right values.
  setenv("OMP_NUM_THREADS", "1", 0);
  // What the kernel prints shows at once, with the call that it came from.
  std::setvbuf(stdout, nullptr, _IONBF, 0);
  limit_resources(limits);
  serve(isolate_descriptors(socket, printed), source);
}

}  // namespace softcheck::proptests
