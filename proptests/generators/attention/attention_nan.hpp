#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// A NaN in one number of a call: in which tensor, where, and which of the format's NaNs.
struct NanPlace {
  enum class Tensor { query, key, value, out_gradient };  // the last of a gradient alone; no number has it
  enum class Position { first, middle, last };            // along every axis of the tensor
  enum class Bits { quiet, quiet_negative, signalling, signalling_negative, payload, payload_negative };
  static constexpr std::size_t tensors = 3, positions = 3, patterns = 6;

  Tensor tensor = Tensor::query;
  Position position = Position::first;
  Bits bits = Bits::quiet;

  /// AttentionCase::nan; never 0.
  std::uint64_t number() const;
  /// The place that a number >= 1 stands for.
  static NanPlace of(std::uint64_t number);
  /// An index along an axis of so many: 0, its half, its last.
  std::size_t along(std::size_t extent) const;
};

/// The bits of such a NaN. A payload has its highest and its lowest bit set.
std::uint64_t nan_bits(numerics::Format format, NanPlace::Bits bits);

}  // namespace softcheck::proptests
