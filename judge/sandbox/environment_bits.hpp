#pragma once

#include <compare>
#include <cstdint>

namespace softcheck::proptests {

/// The state that a function must leave unchanged beside its results: rounding modes, exception masks, flush-to-zero
/// and denormals-are-zero, the x87 unit's precision and whether its registers are free, and the direction of string
/// instructions. The sticky flags of exceptions do not count.
struct EnvironmentBits {
  std::uint64_t control = 0;  // of the vector unit
  std::uint32_t x87 = 0;      // its control word, and its registers in use
  bool backwards = false;     // strings are copied from their end: the direction flag
  friend bool operator==(const EnvironmentBits&, const EnvironmentBits&) = default;
};

/// Of the calling thread. The direction flag is cleared, for the compiler's own code relies on it.
EnvironmentBits environment_bits();

}  // namespace softcheck::proptests
