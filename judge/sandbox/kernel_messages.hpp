#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "judge/call/tensor_call.hpp"
#include "judge/sandbox/containment.hpp"
#include "judge/sandbox/guarded_pages.hpp"

namespace softcheck::proptests {

/// A tensor as the child must pass it. Its address lies in pages that both processes share.
struct ChildTensor {
  void* data = nullptr;  // the first element; null without elements
  int integer_bits = 0;  // 8: uint8; 32, 64: signed integers; 0: numbers of format
  numerics::Format format = numerics::Format::f32;
  std::int32_t dimensions = 0;
  bool compact = false;  // strides are passed as NULL
  std::array<std::int64_t, most_dimensions> shape{};
  std::array<std::int64_t, most_dimensions> strides{};
  std::int64_t byte_offset = 0;
};

/// A tensor's pages; a call may access the whole pages from open_begin to open_end.
struct ChildPages {
  std::byte* begin = nullptr;
  std::size_t size = 0;
  std::size_t open_begin = 0;
  std::size_t open_end = 0;
};

/// A sparse buffer: its address, and the table of accessible ranges in shared memory.
struct ChildIslands {
  std::byte* begin = nullptr;  // of the buffer
  const ByteRange* first = nullptr;
  std::size_t count = 0;
};

/// The judge's request to the child.
struct ChildRequest {
  std::uint64_t number = 0;  // set by KernelChild::call
  std::uint32_t n_inputs = 0;
  std::uint32_t n_outputs = 0;
  std::array<ChildTensor, most_inputs> inputs{};
  std::array<ChildTensor, most_outputs> outputs{};
  std::array<ChildPages, most_inputs + most_outputs> pages{};
  std::array<ChildIslands, most_inputs + most_outputs> islands{};
  PageSlot arena{};  // all addresses of sparse buffers
  double theta = 1;
  double scale = 1;
  std::int32_t causal = 0;
  std::uint32_t op = 0;  // 0: a version 1 call
  std::array<std::uint32_t, most_inputs> roles{};
  Attributes attributes{};
  Device device = Device::cpu;  // the memory that the tensors' addresses belong to
};

/// The child's message; always of this size.
struct ServerMessage {
  enum class Kind : std::int32_t {
    contained,
    loaded,
    not_a_library,
    no_such_symbol,
    no_device,
    answered,
    no_memory,
    died,
    ready
  };

  Kind kind = Kind::contained;
  Containment containment{};         // contained: sent before any of the kernel's code runs
  bool environment_changed = false;  // by loading, or by the call
  bool forks = false;         // loaded: the child reports the death of a process (died), and starts another on request
  std::int32_t returned = 0;  // answered
  std::int32_t status = 0;    // died: from waitpid
  std::uint64_t number = 0;   // answered: the request's number
  std::array<char, 400> text{};  // why the library cannot be loaded, or why there is no device
};

/// Request number that asks for a new process after one died.
inline constexpr std::uint64_t resume = 0;

}  // namespace softcheck::proptests
