#pragma once

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// A sum of doubles without a rounding, as long as two doubles hold it: those of a row of one format mostly do, and
/// cost less than one addition of enclosures each.
class ExactSum {
 public:
  /// The rounded sum, and what the rounding lost (Knuth's TwoSum).
  static double sum(double a, double b, double& lost) {
    const double next = a + b, part = next - a;
    lost = (a - (next - part)) + (b - part);
    return next;
  }

  void add(double x) {
    double lost = 0;
    high_ = sum(high_, x, lost);
    low_ = sum(low_, lost, lost);
    is_exact_ = is_exact_ && lost == 0;
  }
  /// a - b.
  void add_difference(double a, double b) {
    double lost = 0;
    add(sum(a, -b, lost));
    if (lost != 0) add(lost);
  }
  bool is_exact() const { return is_exact_; }
  /// Within half a unit in the last place, where it is exact.
  double nearest() const { return high_ + low_; }
  Enclosure value() const { return Enclosure(high_) + Enclosure(low_); }

 private:
  double high_ = 0, low_ = 0;
  bool is_exact_ = true;
};

}  // namespace softcheck::numerics
