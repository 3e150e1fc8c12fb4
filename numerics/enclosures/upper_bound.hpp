#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace softcheck::numerics {

/// A double that is at least as large as the nonnegative real it stands for: every operation rounds upward, so that a
/// formula that grows in each of its arguments gives an upper bound again. +infinity means that there is no finite
/// bound.
///
/// The quick sibling of Enclosure for bounds, a few nanoseconds an operation. Needs round-to-nearest without
/// flush-to-zero (FpEnvironmentGuard); the public functions of numerics/rounding/rounding.hpp hold one. Sums and
/// products stand here because the judge makes dozens of them for each item of a row: as calls they took a third of its
/// time.
class UpperBound {
 public:
  UpperBound() = default;
  UpperBound(int value) : UpperBound(static_cast<double>(value)) {}  // NOLINT: T(1) and 2 * x read as in the paper
  /// throws   std::invalid_argument when value is negative or not a number; infinity is allowed
  explicit UpperBound(double value) : value_(value) {
    if (!(value >= 0)) refuse(value);
  }
  static UpperBound infinity() { return UpperBound(std::numeric_limits<double>::infinity()); }

  double value() const { return value_; }

  /// The next bound up; infinity stays.
  UpperBound next() const {
    if (!(value_ < std::numeric_limits<double>::infinity())) return *this;
    return UpperBound(std::bit_cast<double>(std::bit_cast<std::uint64_t>(value_) + 1));  // its bits: -0 is never met
  }

  friend UpperBound operator+(UpperBound a, UpperBound b) {
    if (a.value_ == 0) return b;
    if (b.value_ == 0) return a;
    return UpperBound(a.value_ + b.value_).next();
  }
  friend UpperBound operator*(UpperBound a, UpperBound b) {
    if (a.value_ == 0 || b.value_ == 0) return UpperBound();  // 0 * infinity = 0: an absent term
    // Below 2^-969, as products of what a kernel loses to underflow are: a processor takes 30 times as long for them.
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
/// -ln(1 - x); infinity from x = 1 on.
UpperBound minus_log1m(UpperBound x);
/// 1 / (1 - x); infinity from x = 1 on.
UpperBound over_one_minus(UpperBound x);
UpperBound sqrt(UpperBound x);
UpperBound maximum(UpperBound a, UpperBound b);
UpperBound minimum(UpperBound a, UpperBound b);
/// sum a_i.
UpperBound sum(std::span<const UpperBound> a);
/// sum a_i b_i of as many each.
UpperBound dot(std::span<const UpperBound> a, std::span<const UpperBound> b);
/// No less than a sum of n products >= 0 that doubles, added up in any order, came to. Nothing where that says nothing:
/// of zeros, of infinities, and where products may be lost that are subnormal.
std::optional<UpperBound> bound_of_sum(double computed, std::size_t n);

}  // namespace softcheck::numerics
