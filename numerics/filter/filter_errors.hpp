#pragma once

#include <cstddef>
#include <span>

#include "numerics/filter/row_filter.hpp"

namespace softcheck::numerics {

/// The filter's question about a row: the elements' tolerance, the output and the test for vacuity.
struct ErrorQuestion {
  ElementTolerance tolerance;      // without ulps
  Format output = Format::f32;     // of the values: at most 24 bits of precision
  double plain_relative = 0;       // an element is vacuous if plain_relative + plain_per_deviation * D >= 1
  double plain_per_deviation = 0;  // finite, like all of these
};

/// The errors of a row that the filter proved, relative to the filter's p, whose error is about 40 * 2^-53.
struct ProvedErrors {
  bool proved = false;         // false: the other members are meaningless
  double largest_share = 0;    // |got - p| relative to its tolerance
  std::size_t normal = 0;      // elements at or above the output's smallest normal number
  std::size_t vacuous = 0;     // of these
  std::size_t values = 0;      // of these, elements larger than their tolerance, which have ulps
  double total_ulps = 0;       // sum of got - p, signed
  double worst_ulps = 0;       // largest magnitude
  double worst_allowed = 0;    // the tolerance of that element, in ulps
  std::size_t worst_item = 0;  // that element; any of several with the same error
};

/// Proves in one pass that a row of softmax values holds: each value is within its tolerance, none is negative, -0 or
/// above 1, and masked items are +0. Also sums the errors. If it cannot prove that, `proved` is false and the other
/// members are meaningless.
///
/// filter_judge proves everything that this function proves, by the same vector code.
///
/// logits   (n), the row of the statistics; got (n)
/// throws   std::invalid_argument if the sizes differ, every item is masked, a part of the question is negative or NaN,
///          or the output has more than 24 bits
ProvedErrors filter_errors(std::span<const double> logits, const FilterStatistics& statistics,
                           std::span<const double> got, const ErrorQuestion& question);

}  // namespace softcheck::numerics
