#pragma once

#include <compare>
#include <cstdint>

namespace softcheck::proptests {

/// The thread's state that a function must leave unchanged: rounding modes, exception masks, flush-to-zero and
/// denormals-are-zero, the x87 unit's precision and register use, and the direction flag of string instructions. The
/// sticky exception flags are not part of it.
struct EnvironmentBits {
  std::uint64_t control = 0;  // of the vector unit
  std::uint32_t x87 = 0;      // the control word, and the registers in use
  bool backwards = false;     // the direction flag: string instructions run from the end
  friend bool operator==(const EnvironmentBits&, const EnvironmentBits&) = default;
};

/// Reads the calling thread's state. Clears the direction flag, because compiled code relies on that.
EnvironmentBits environment_bits();

}  // namespace softcheck::proptests
