#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "proptests/judge/isolated_kernel.hpp"

namespace softcheck::proptests {

/// One tensor as the child is to pass it; the address lies in pages that both share.
struct ChildTensor {
  void* data = nullptr;  // the first element; null where there is none
  bool is_mask = false;  // uint8; else a number of format
  numerics::Format format = numerics::Format::f32;
  std::int32_t dimensions = 0;
  bool compact = false;  // strides are passed as NULL
  std::array<std::int64_t, most_dimensions> shape{};
  std::array<std::int64_t, most_dimensions> strides{};
  std::int64_t byte_offset = 0;
};

/// What the judge asks of the child.
struct ChildRequest {
  std::uint64_t number = 0;  // set by KernelChild::call
  std::uint32_t n_inputs = 0;
  std::uint32_t n_outputs = 0;
  std::array<ChildTensor, most_inputs> inputs;
  std::array<ChildTensor, most_outputs> outputs;
  double theta = 1;
  double scale = 1;
  std::int32_t causal = 0;
};

struct ChildReply {
  CallEnd end = CallEnd::done;
  int returned = 0;
  bool environment_changed = false;
  std::string death;
};

/// The child process itself: forked, the library loaded there, one request answered after the other over a socket of
/// its own.
class KernelChild {
 public:
  /// throws   KernelLoadError
  KernelChild(const KernelSource& source, const KernelLimits& limits);
  ~KernelChild();
  KernelChild(const KernelChild&) = delete;
  KernelChild& operator=(const KernelChild&) = delete;

  /// After crashed or timed_out the child is gone.
  ChildReply call(ChildRequest request);
  std::size_t printed_bytes() const;

 private:
  void wait_for_library(const KernelSource& source);
  void stop() const;
  /// Waits for the child's end and says how it ended.
  std::string reap();

  double seconds_per_call_;
  pid_t pid_ = -1;
  int socket_ = -1;
  int printed_ = -1;
  std::uint64_t calls_ = 0;
};

}  // namespace softcheck::proptests
