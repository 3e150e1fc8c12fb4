#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// A NaN in one number of a call: the tensor, the position, and the bits.
struct NanPlace {
  enum class Tensor { query, key, value, out_gradient };  // out_gradient: only for gradients; not encoded in number()
  enum class Position { first, middle, last };            // along every axis of the tensor
  enum class Bits { quiet, quiet_negative, signalling, signalling_negative, payload, payload_negative };
  static constexpr std::size_t tensors = 3, positions = 3, patterns = 6;

  Tensor tensor = Tensor::query;
  Position position = Position::first;
  Bits bits = Bits::quiet;

  /// The value of AttentionCase::nan; never 0.
  std::uint64_t number() const;
  /// The inverse of number(), for numbers >= 1.
  static NanPlace of(std::uint64_t number);
  /// The index along an axis of this extent: 0, the middle, or the last.
  std::size_t along(std::size_t extent) const;
};

/// The bits of such a NaN. A payload has its highest and lowest bit set.
std::uint64_t nan_bits(numerics::Format format, NanPlace::Bits bits);

}  // namespace softcheck::proptests
