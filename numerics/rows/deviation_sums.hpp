#pragma once

#include <cstddef>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// Exponents of exp carry so many bits more than the results: an exponent of size 2^16 that had to be rounded then
/// widens its weight by 2^-15 of what the exponential itself does.
inline constexpr unsigned exponent_guard_bits = 32;

/// exp(exponent) at the working precision, by one evaluation: the lower end is MPFR's, rounded down, and because MPFR
/// rounds correctly the upper end is the next number, times exp(width of the exponent) <= 1 + 2 width.
///
/// error    relative width at most 2^(1 - precision) where the exponent is a point (none where it is 0), else at most
///          2^(2 - precision) + 3 width(exponent) while that width is <= 1
Enclosure weight_of(const Enclosure& exponent);

/// The rest of weight_of where the lower end, exp(exponent.lower) rounded down, is known already.
void set_upper_weight(Enclosure& weight, const Enclosure& exponent);

/// Adds up S = sum w, T = sum w D and U = sum w D^2 over items given by -D and their weights w = exp(-D).
///
/// error    products and sums carry guard bits and are rounded outward to the precision once, at the end: where all D
///          are >= 0, the relative width of a sum is that of its widest term plus at most 2^(3 - precision)
class DeviationSums {
 public:
  /// items    at most so many will be added; the precision is the working one
  explicit DeviationSums(std::size_t items);

  /// Adds count items that share -D and w.
  void add(const Enclosure& exponent, const Enclosure& weight, unsigned long count = 1);

  Enclosure sum() const;
  Enclosure weighted_deviation() const;
  Enclosure second_moment() const;

 private:
  void add_term(Enclosure& total, unsigned long count);
  Enclosure rounded(const Enclosure& guarded) const;

  unsigned precision_;
  unsigned guarded_precision_;
  Enclosure sum_, first_, second_;  // of w, -w D, w D^2
  Enclosure term_;                  // each of these in turn
  Enclosure run_;                   // count times the term
};

}  // namespace softcheck::numerics
