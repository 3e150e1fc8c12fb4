#pragma once

#include <cstddef>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// Additional bits of exp's exponents: rounding an exponent of size 2^16 then widens its weight by 2^-15 of the
/// exponential's own width.
inline constexpr unsigned exponent_guard_bits = 32;

/// exp(exponent) at the working precision by one evaluation: MPFR rounds the lower end down, and since it rounds
/// correctly the upper end is the next number, times exp(width of the exponent) <= 1 + 2 width.
///
/// error    relative width at most 2^(1 - precision) if the exponent is a point (0 for the exponent 0), else at most
///          2^(2 - precision) + 3 width(exponent) for widths <= 1
Enclosure weight_of(const Enclosure& exponent);

/// The second step of weight_of, for a known lower end: exp(exponent.lower) rounded down.
void set_upper_weight(Enclosure& weight, const Enclosure& exponent);

/// Sums S = sum w, T = sum w D and U = sum w D^2 over items given by -D and their weights w = exp(-D).
///
/// error    products and sums have guard bits and are rounded outward to the precision once, at the end: if all D >= 0,
///          the relative width of a sum is that of its widest term plus at most 2^(3 - precision)
class DeviationSums {
 public:
  /// items    most items that will be added; uses the working precision
  explicit DeviationSums(std::size_t items);

  /// Adds `count` items with the same -D and w.
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
  Enclosure term_;                  // scratch for these terms
  Enclosure run_;                   // count times the term
};

}  // namespace softcheck::numerics
