#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "proptests/judge/isolated_kernel.hpp"

namespace softcheck::proptests {

/// What the judge asks of the child; the addresses lie in pages that both share.
struct ChildRequest {
  std::uint64_t number = 0;  // set by KernelChild::call
  void* input_data = nullptr;
  void* output_data = nullptr;
  void* mask_data = nullptr;  // (rows, columns) uint8, compact; null: no mask is passed
  numerics::Format input = numerics::Format::f32;
  numerics::Format output = numerics::Format::f32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t row_stride = 0;  // in elements, as the others
  std::int64_t column_stride = 1;
  std::int64_t offset = 0;
  bool row_scalar = false;  // the output is (rows)
  double theta = 1;
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
