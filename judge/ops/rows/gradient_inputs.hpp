#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

/// Bits of RowCase::auxiliary: some items of a saved log-softmax are -inf, all are shifted.
inline constexpr std::uint64_t hidden_items_bit = 16, shifted_bit = 32;

/// What the forward pass saved, rounded to the format; the logits are finite. As a saved output may come from any
/// kernel, some are scaled, so that they add up to something else (softmax), or shifted (log-softmax).
///
/// beside   RowCase::auxiliary: its low four bits choose the upstream gradient's kind, the next two what is done to y
std::vector<double> saved_softmax(numerics::Format format, std::span<const double> logits, std::uint64_t auxiliary);
std::vector<double> saved_log_softmax(numerics::Format format, std::span<const double> logits, std::uint64_t auxiliary);

/// The beside of an upstream gradient of equal items.
inline constexpr std::uint64_t alike_upstream = 1;

/// An upstream gradient of n items: one item alone (0), constant, small, of random signs, alternating, over a wide
/// range of magnitudes, nearly constant, one large item among small ones, or near the least normal numbers. Sums of
/// products with y then hold one term, cancel in the difference from each item, or cancel in themselves.
std::vector<double> upstream_gradient(numerics::Format format, std::size_t n, std::uint64_t auxiliary);

/// Numbers of 64 bits that look like chance, the same for the same number and item.
std::uint64_t hashed(std::uint64_t number, std::uint64_t item);
/// In (-1, 1).
double signed_unit(std::uint64_t bits);

/// A sum in long double, and how far it may be off: 2^-62 of the terms' magnitudes where there are at most 2^30 of
/// them.
struct LongSum {
  long double value = 0;
  numerics::UpperBound magnitude;  // sum of |terms|

  long double error() const { return 0x1p-62L * magnitude.value(); }
  /// |exact sum|.
  numerics::UpperBound size() const;
};

/// sum a b; with b empty sum a.
LongSum long_sum(std::span<const double> a, std::span<const double> b);

/// The largest magnitude, 0 of nothing.
double largest_magnitude_of(std::span<const double> numbers);

}  // namespace softcheck::proptests
