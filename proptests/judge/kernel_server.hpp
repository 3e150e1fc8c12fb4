#pragma once

#include <array>
#include <cstdint>

#include "proptests/judge/kernel_child.hpp"

namespace softcheck::proptests {

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

/// The child's side: takes away what the kernel must not reach, loads it, says so by a LoadMessage, and answers each
/// ChildRequest by a CallMessage. An exception that crosses the C boundary ends the process.
///
/// socket    the child's end of the channel       printed   file that the kernel prints to
[[noreturn]] void serve_kernel(int socket, int printed, const KernelSource& source,
                               const KernelLimits& limits) noexcept;

}  // namespace softcheck::proptests
