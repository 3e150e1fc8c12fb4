#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace softcheck::numerics {

/// A double that is an upper bound of a nonnegative real. Every operation rounds upward, so a formula that increases in
/// each argument gives an upper bound. +infinity: no finite bound.
///
/// The quick counterpart of Enclosure for bounds, a few nanoseconds per operation. Needs round-to-nearest without
/// flush-to-zero (FpEnvironmentGuard, as in the public functions of numerics/rounding/rounding.hpp). Sums and products
/// are inline because the judge computes dozens of them per item of a row; as calls they took a third of its time.
class UpperBound {
 public:
  UpperBound() = default;
  UpperBound(int value) : UpperBound(static_cast<double>(value)) {}  // NOLINT: T(1) and 2 * x read as in the paper
  /// throws   std::invalid_argument if the value is negative or NaN; infinity is allowed
  explicit UpperBound(double value) : value_(value) {
    if (!(value >= 0)) refuse(value);
  }
  static UpperBound infinity() { return UpperBound(std::numeric_limits<double>::infinity()); }

  double value() const { return value_; }

  /// The next larger bound; infinity stays.
  UpperBound next() const {
    if (!(value_ < std::numeric_limits<double>::infinity())) return *this;
    // by bits; the value is never -0
    return UpperBound(std::bit_cast<double>(std::bit_cast<std::uint64_t>(value_) + 1));
  }

  friend UpperBound operator+(UpperBound a, UpperBound b) {
    if (a.value_ == 0) return b;
    if (b.value_ == 0) return a;
    return UpperBound(a.value_ + b.value_).next();
  }
  friend UpperBound operator*(UpperBound a, UpperBound b) {
    if (a.value_ == 0 || b.value_ == 0) return UpperBound();  // 0 * infinity = 0: an absent term
    // Products below 2^-969, as of underflow losses: processors take 30 times as long for subnormal numbers.
    if (exponent_bits(a.value_) + exponent_bits(b.value_) <= 1075) return small_product(a.value_, b.value_);
    return UpperBound(a.value_ * b.value_).next();
  }

 private:
  [[noreturn]] static void refuse(double value);
  static UpperBound small_product(double a, double b);
  static std::uint64_t exponent_bits(double x) { return std::bit_cast<std::uint64_t>(x) >> 52; }

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
/// -ln(1 - x); infinity for x >= 1.
UpperBound minus_log1m(UpperBound x);
/// 1 / (1 - x); infinity for x >= 1.
UpperBound over_one_minus(UpperBound x);
UpperBound sqrt(UpperBound x);
UpperBound maximum(UpperBound a, UpperBound b);
UpperBound minimum(UpperBound a, UpperBound b);
/// sum a_i.
UpperBound sum(std::span<const UpperBound> a);
/// sum a_i b_i; a and b have the same length.
UpperBound dot(std::span<const UpperBound> a, std::span<const UpperBound> b);
/// An upper bound of a sum of n products >= 0 from their sum in doubles, in any order. Nothing for zero, for infinity,
/// or if subnormal products may be lost.
std::optional<UpperBound> bound_of_sum(double computed, std::size_t n);

}  // namespace softcheck::numerics
