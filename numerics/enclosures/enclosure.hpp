#pragma once

#include <mpfi.h>

#include <concepts>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "numerics/formats/fp_environment.hpp"

namespace softcheck::numerics {

/// Sets this thread's working precision in bits, which every new Enclosure has, for the lifetime of the scope. Also
/// holds an FpEnvironmentGuard: enclosures need round-to-nearest without flush-to-zero.
///
/// bits     in [53, 65536], so that a double is exactly a point
class [[nodiscard]] PrecisionScope {
 public:
  explicit PrecisionScope(unsigned bits);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  unsigned saved_;
  FpEnvironmentGuard environment_;
};

/// This thread's working precision in bits; 113 without a PrecisionScope.
unsigned working_precision();

/// A closed interval that contains the real it stands for: every operation rounds outward.
///
/// It has no relational operators, since a <= b is a three-valued question (numerics/enclosures/decision.hpp); std::max
/// and std::sort therefore do not compile for it. maximum() and minimum() are the interval extensions. Division by an
/// interval that contains 0 gives the whole line, and the logarithm of an interval that reaches below 0 is NaN: both
/// decide nothing.
class Enclosure {
 public:
  Enclosure();  // the point 0
  /// For T(1) and 2 * x as in the paper. Integers only: an int parameter would silently truncate 0.5 to 0.
  template <std::integral Integer>
  Enclosure(Integer value) : Enclosure() {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_signed_v<Integer>) {
      set(static_cast<std::int64_t>(value));
    } else {
      set(static_cast<std::uint64_t>(value));
    }
  }
  /// The point value, converted by its bits.
  /// throws   std::invalid_argument if the value is infinite or NaN
  explicit Enclosure(double value);

  /// The result has the same precision. A moved-from enclosure can only be destroyed or assigned to.
  Enclosure(const Enclosure& other);
  Enclosure(Enclosure&& other) noexcept : interval_{*other.interval_} { other.interval_->left._mpfr_d = nullptr; }
  Enclosure& operator=(const Enclosure& other);
  Enclosure& operator=(Enclosure&& other) noexcept {
    std::swap(*interval_, *other.interval_);
    return *this;
  }
  ~Enclosure() {
    if (interval_->left._mpfr_d) give_back();
  }

  static Enclosure integer(std::uint64_t value);
  /// [lower, upper], possibly infinite; throws std::invalid_argument unless lower <= upper.
  static Enclosure between(double lower, double upper);
  /// The tightest enclosure of a decimal fraction such as "0.481" or "1e-9".
  static Enclosure decimal(std::string_view text);
  /// 2^exponent, exactly.
  static Enclosure power_of_two(long exponent);
  static Enclosure pi();

  Enclosure& operator+=(const Enclosure& other);
  Enclosure& operator-=(const Enclosure& other);
  Enclosure& operator*=(const Enclosure& other);
  Enclosure& operator/=(const Enclosure& other);
  friend Enclosure operator+(const Enclosure& a, const Enclosure& b);
  friend Enclosure operator-(const Enclosure& a, const Enclosure& b);
  friend Enclosure operator*(const Enclosure& a, const Enclosure& b);
  friend Enclosure operator/(const Enclosure& a, const Enclosure& b);
  friend Enclosure operator-(const Enclosure& a);

  friend bool operator==(const Enclosure&, const Enclosure&) = delete;
  friend bool operator!=(const Enclosure&, const Enclosure&) = delete;
  friend bool operator<(const Enclosure&, const Enclosure&) = delete;
  friend bool operator<=(const Enclosure&, const Enclosure&) = delete;
  friend bool operator>(const Enclosure&, const Enclosure&) = delete;
  friend bool operator>=(const Enclosure&, const Enclosure&) = delete;

  /// The ends as doubles, rounded outward.
  double lower_double() const;
  double upper_double() const;
  /// upper - lower, rounded up.
  double width() const;
  /// A double in or next to the interval: for display and starting points, never for decisions.
  double midpoint() const;

  bool is_nan() const;
  bool is_point() const;
  bool contains(double value) const;
  bool contains(const Enclosure& inner) const;
  bool overlaps(const Enclosure& other) const;
  /// Certainly >= 0, > 0, <= 0, < 0; false if the enclosure does not decide it.
  bool certainly_nonnegative() const;
  bool certainly_positive() const;
  bool certainly_nonpositive() const;
  bool certainly_negative() const;

  /// Precision of its ends in bits.
  unsigned precision() const;
  /// "[lower, upper]" with this many significant decimal digits, rounded outward.
  std::string to_string(int digits = 8) const;

  mpfi_srcptr data() const { return interval_; }
  mpfi_ptr data() { return interval_; }

 private:
  void take(unsigned precision);
  void give_back() noexcept;
  void set(std::int64_t value);
  void set(std::uint64_t value);

  mpfi_t interval_;
};

Enclosure exp(const Enclosure& x);
Enclosure expm1(const Enclosure& x);
Enclosure log(const Enclosure& x);
Enclosure log1p(const Enclosure& x);
Enclosure sqrt(const Enclosure& x);
Enclosure tanh(const Enclosure& x);
Enclosure cos(const Enclosure& x);
Enclosure sin(const Enclosure& x);
Enclosure square(const Enclosure& x);
Enclosure abs(const Enclosure& x);
Enclosure pow(const Enclosure& x, unsigned exponent);
Enclosure maximum(const Enclosure& a, const Enclosure& b);
Enclosure minimum(const Enclosure& a, const Enclosure& b);
/// The smallest interval that contains both.
Enclosure hull(const Enclosure& a, const Enclosure& b);
/// The intersection of two enclosures of one number; throws std::logic_error if it is empty: then one of them is wrong.
Enclosure intersection(const Enclosure& a, const Enclosure& b);

std::ostream& operator<<(std::ostream& stream, const Enclosure& x);

}  // namespace softcheck::numerics
