#pragma once

namespace softcheck::numerics {

/// A double that is at least as large as the nonnegative real it stands for: every operation rounds upward, so that a
/// formula that grows in each of its arguments gives an upper bound again. +infinity means that there is no finite
/// bound.
///
/// The quick sibling of Enclosure for bounds, a few nanoseconds an operation. Needs round-to-nearest without
/// flush-to-zero (FpEnvironmentGuard); the public functions of numerics/rounding.hpp hold one.
class UpperBound {
 public:
  UpperBound() = default;
  UpperBound(int value);  // NOLINT: T(1) and 2 * x read as in the paper
  /// throws   std::invalid_argument when value is negative or not a number; infinity is allowed
  explicit UpperBound(double value);
  static UpperBound infinity();

  double value() const { return value_; }

  friend UpperBound operator+(UpperBound a, UpperBound b);
  friend UpperBound operator*(UpperBound a, UpperBound b);  // 0 * infinity = 0: an absent term

 private:
  double value_ = 0;
};

/// e^x.
UpperBound exp(UpperBound x);
/// e^x - 1.
UpperBound expm1(UpperBound x);
/// max(ln x, 0).
UpperBound log(UpperBound x);
/// ln(1 + x).
UpperBound log1p(UpperBound x);
/// -ln(1 - x); infinity from x = 1 on.
UpperBound minus_log1m(UpperBound x);
/// 1 / (1 - x); infinity from x = 1 on.
UpperBound over_one_minus(UpperBound x);
UpperBound maximum(UpperBound a, UpperBound b);

}  // namespace softcheck::numerics
