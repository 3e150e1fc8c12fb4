#pragma once

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {

/// An exact sum of doubles, as long as two doubles can represent it, as for most rows of one format. An addition costs
/// less than that of two enclosures.
class ExactSum {
 public:
  /// The rounded sum and its rounding error (Knuth's TwoSum).
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
  /// Within half an ulp, if the sum is exact.
  double nearest() const { return high_ + low_; }
  Enclosure value() const { return Enclosure(high_) + Enclosure(low_); }

 private:
  double high_ = 0, low_ = 0;
  bool is_exact_ = true;
};

}  // namespace softcheck::numerics
