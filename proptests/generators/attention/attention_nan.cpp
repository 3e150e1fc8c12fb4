#include "proptests/generators/attention/attention_nan.hpp"

namespace softcheck::proptests {

std::uint64_t NanPlace::number() const {
  return 1 + static_cast<std::uint64_t>(tensor) +
         tensors * (static_cast<std::uint64_t>(position) + positions * static_cast<std::uint64_t>(bits));
}

NanPlace NanPlace::of(std::uint64_t number) {
  const std::uint64_t rest = number - 1;
  return {static_cast<Tensor>(rest % tensors), static_cast<Position>(rest / tensors % positions),
          static_cast<Bits>(rest / tensors / positions % patterns)};
}

std::size_t NanPlace::along(std::size_t extent) const {
  switch (position) {
    case Position::first:
      return 0;
    case Position::middle:
      return extent / 2;
    case Position::last:
      break;
  }
  return extent - 1;
}

std::uint64_t nan_bits(numerics::Format format, NanPlace::Bits bits) {
  const numerics::FormatProperties& facts = numerics::properties(format);
  const std::uint64_t sign = std::uint64_t{1} << (facts.storage_bits - 1);
  const std::uint64_t quiet = std::uint64_t{1} << (facts.precision - 2);  // highest bit of the significand
  const std::uint64_t exponent = sign - 2 * quiet;                        // all bits between
  const bool negative = bits == NanPlace::Bits::quiet_negative || bits == NanPlace::Bits::signalling_negative ||
                        bits == NanPlace::Bits::payload_negative;
  std::uint64_t pattern = exponent | (negative ? sign : 0);
  if (!facts.has_infinity) return pattern | (2 * quiet - 1);  // the only NaN of its sign
  if (bits == NanPlace::Bits::signalling || bits == NanPlace::Bits::signalling_negative) return pattern | (quiet >> 1);
  pattern |= quiet;
  const bool payload = bits == NanPlace::Bits::payload || bits == NanPlace::Bits::payload_negative;
  return payload ? pattern | (quiet >> 1) | 1 : pattern;
}

}  // namespace softcheck::proptests
