#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::proptests {

/// Bits of RowCase::auxiliary: set some items of a saved log-softmax to -inf; shift all items.
inline constexpr std::uint64_t hidden_items_bit = 16, shifted_bit = 32;

/// The output that the forward pass saved, rounded to the format, for finite logits. A saved output may come from any
/// kernel, so some are scaled and sum to something other than 1 (softmax), or shifted (log-softmax).
///
/// auxiliary   RowCase::auxiliary: the low four bits choose the kind of upstream gradient, the next two the change of y
std::vector<double> saved_softmax(numerics::Format format, std::span<const double> logits, std::uint64_t auxiliary);
std::vector<double> saved_log_softmax(numerics::Format format, std::span<const double> logits, std::uint64_t auxiliary);

/// The auxiliary of an upstream gradient with equal items.
inline constexpr std::uint64_t alike_upstream = 1;

/// An upstream gradient of n items: a single nonzero item (0), constant, small, random signs, alternating, a wide range
/// of magnitudes, nearly constant, one large item among small ones, or near the smallest normal numbers. In these
/// kinds, sums of products with y have one term, cancel in the difference from each item, or cancel in themselves.
std::vector<double> upstream_gradient(numerics::Format format, std::size_t n, std::uint64_t auxiliary);

/// 64 pseudorandom bits, a function of the number and the item.
std::uint64_t hashed(std::uint64_t number, std::uint64_t item);
/// In (-1, 1).
double signed_unit(std::uint64_t bits);

/// A sum in long double with an error bound: 2^-62 of the terms' magnitudes, for at most 2^30 terms.
struct LongSum {
  long double value = 0;
  numerics::UpperBound magnitude;  // sum of |terms|

  long double error() const { return 0x1p-62L * magnitude.value(); }
  /// |exact sum|.
  numerics::UpperBound size() const;
};

/// sum a b, or sum a if b is empty.
LongSum long_sum(std::span<const double> a, std::span<const double> b);

/// The largest magnitude; 0 if there are no numbers.
double largest_magnitude_of(std::span<const double> numbers);

}  // namespace softcheck::proptests
