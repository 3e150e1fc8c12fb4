#pragma once

#include <cstddef>
#include <span>

#include "numerics/filter/row_filter.hpp"

namespace softcheck::numerics {

/// The filter's question about a row beside the tolerance of its elements.
struct ErrorQuestion {
  ElementTolerance tolerance;      // without ulps
  Format output = Format::f32;     // of the values: at most 24 bits of precision
  double plain_relative = 0;       // an element is vacuous where plain_relative + plain_per_deviation * D >= 1
  double plain_per_deviation = 0;  // finite, as all of these
};

/// The errors of a row that the filter proved, by the filter's p, whose error is some 40 * 2^-53.
struct ProvedErrors {
  bool proved = false;         // else nothing below means anything
  double largest_share = 0;    // of |got - p| in its tolerance
  std::size_t normal = 0;      // elements that are no smaller than the output's smallest normal number
  std::size_t vacuous = 0;     // of these
  std::size_t values = 0;      // of these, elements larger than their own tolerance: they have ulps
  double total_ulps = 0;       // of got - p, signed
  double worst_ulps = 0;       // the largest magnitude
  double worst_allowed = 0;    // the tolerance of that element, in ulps
  std::size_t worst_item = 0;  // that element; of several with the same error any
};

/// Proves in one pass that a row of softmax values holds: each value is within its tolerance, none is negative, -0 or
/// above 1, and that of a masked item is +0. Also adds up the errors. Where it proves nothing, `proved` is false and
/// the other members have no meaning.
///
/// filter_judge proves whatever this function proves: the same vector code answers the same question.
///
/// logits   (n), the row that the statistics belong to; got (n)
/// throws   std::invalid_argument when the sizes differ, every item is masked, a part of the question is negative or
///          not a number, or the output has more than 24 bits
ProvedErrors filter_errors(std::span<const double> logits, const FilterStatistics& statistics,
                           std::span<const double> got, const ErrorQuestion& question);

}  // namespace softcheck::numerics
