#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>

#include "numerics/formats/format.hpp"

namespace softcheck::theory {

// exp(x) in a formula must find the function of its scalar: these for float and double, numerics::exp for an Enclosure
// (by its namespace) and the friends of Rounded.
template <std::floating_point T>
T exp(T x) {
  return std::exp(x);
}
template <std::floating_point T>
T expm1(T x) {
  return std::expm1(x);
}
template <std::floating_point T>
T log(T x) {
  return std::log(x);
}
template <std::floating_point T>
T log1p(T x) {
  return std::log1p(x);
}
template <std::floating_point T>
T sqrt(T x) {
  return std::sqrt(x);
}
template <std::floating_point T>
T tanh(T x) {
  return std::tanh(x);
}
template <std::floating_point T>
T square(T x) {
  return x * x;
}
template <std::floating_point T>
T maximum(T a, T b) {
  return std::max(a, b);
}
template <std::floating_point T>
T minimum(T a, T b) {
  return std::min(a, b);
}

/// A value of one of the formats of numerics/formats/format.hpp, every operation rounded to it, ties to even.
///
/// Each operation is one of double, rounded again by round_to. Rounding twice is innocuous for + - * / and sqrt where
/// 2 p + 2 <= 53 for the precision p of the format (Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter
/// 30, 1995): p = 24, 11, 8, 4, 3 qualify, f64 needs no emulation. Subnormal results only lower p, and no operation on
/// two values of these formats leaves double's normal range other than exactly. exp, expm1, log and log1p add the
/// error of double's own, 2^(p - 53) units in the last place of the format.
template <numerics::Format F>
class Rounded {
  static_assert(F != numerics::Format::f64, "double itself is the scalar of f64");

 public:
  static constexpr numerics::Format format = F;

  Rounded() = default;
  Rounded(int value) : Rounded(static_cast<double>(value)) {}  // NOLINT: T(1) and 2 * x read as in the paper
  explicit Rounded(double value) : value_(numerics::round_to(F, value)) {}

  explicit operator double() const { return value_; }

  friend Rounded operator+(Rounded a, Rounded b) { return Rounded(a.value_ + b.value_); }
  friend Rounded operator-(Rounded a, Rounded b) { return Rounded(a.value_ - b.value_); }
  friend Rounded operator*(Rounded a, Rounded b) { return Rounded(a.value_ * b.value_); }
  friend Rounded operator/(Rounded a, Rounded b) { return Rounded(a.value_ / b.value_); }
  friend Rounded operator-(Rounded a) { return Rounded(-a.value_); }
  Rounded& operator+=(Rounded other) { return *this = *this + other; }
  Rounded& operator-=(Rounded other) { return *this = *this - other; }
  Rounded& operator*=(Rounded other) { return *this = *this * other; }
  Rounded& operator/=(Rounded other) { return *this = *this / other; }
  friend bool operator==(Rounded a, Rounded b) { return a.value_ == b.value_; }
  friend auto operator<=>(Rounded a, Rounded b) { return a.value_ <=> b.value_; }

  friend Rounded exp(Rounded x) { return Rounded(std::exp(x.value_)); }
  friend Rounded expm1(Rounded x) { return Rounded(std::expm1(x.value_)); }
  friend Rounded log(Rounded x) { return Rounded(std::log(x.value_)); }
  friend Rounded log1p(Rounded x) { return Rounded(std::log1p(x.value_)); }
  friend Rounded sqrt(Rounded x) { return Rounded(std::sqrt(x.value_)); }

 private:
  double value_ = 0;
};

using Half = Rounded<numerics::Format::f16>;
using BFloat16 = Rounded<numerics::Format::bf16>;

/// What a formula of the paper is made of: float, double, Rounded, numerics::Enclosure.
template <class T>
concept Scalar = std::copyable<T> && std::constructible_from<T, int> && std::constructible_from<T, double> &&
    requires(const T a, const T b) {
  { a + b } -> std::convertible_to<T>;
  { a - b } -> std::convertible_to<T>;
  { a* b } -> std::convertible_to<T>;
  { a / b } -> std::convertible_to<T>;
  { -a } -> std::convertible_to<T>;
  { exp(a) } -> std::convertible_to<T>;
  { expm1(a) } -> std::convertible_to<T>;
  { log(a) } -> std::convertible_to<T>;
  { log1p(a) } -> std::convertible_to<T>;
  { sqrt(a) } -> std::convertible_to<T>;
};

/// A Scalar with an order: not an Enclosure, for which a < b may be neither true nor false.
template <class T>
concept OrderedScalar = Scalar<T> && std::totally_ordered<T>;

/// numerator / denominator: the decimal constants of the paper in any scalar, rounded once (-0.037 is -37 / 1000).
template <Scalar T>
T ratio(int numerator, int denominator) {
  return T(numerator) / T(denominator);
}

}  // namespace softcheck::theory
