#include "numerics/upper_bound.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace softcheck::numerics {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// The next double after one that is >= 0, by its bits; infinity and what is not a number stay.
double after(double value) {
  return value < infinite ? std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) + 1) : value;
}

UpperBound next_up(double rounded) { return UpperBound(after(rounded)); }

// The GNU C library documents errors of at most 1 ulp for exp, expm1, log and log1p on x86-64 ("Errors in Math
// Functions"); four steps leave room for another library.
UpperBound four_up(double computed) {
  for (int i = 0; i < 4; ++i) computed = after(computed);
  return UpperBound(computed);
}

}  // namespace

UpperBound::UpperBound(int value) : UpperBound(static_cast<double>(value)) {}

UpperBound::UpperBound(double value) : value_(value) {
  if (!(value >= 0)) throw std::invalid_argument("UpperBound: need a value >= 0, got " + std::to_string(value));
}

UpperBound UpperBound::infinity() { return UpperBound(infinite); }

UpperBound operator+(UpperBound a, UpperBound b) {
  if (a.value_ == 0) return b;
  if (b.value_ == 0) return a;
  return next_up(a.value_ + b.value_);
}

UpperBound operator*(UpperBound a, UpperBound b) {
  if (a.value_ == 0 || b.value_ == 0) return UpperBound();
  return next_up(a.value_ * b.value_);
}

UpperBound exp(UpperBound x) { return x.value() == 0 ? UpperBound(1) : four_up(std::exp(x.value())); }

UpperBound expm1(UpperBound x) { return x.value() == 0 ? UpperBound() : four_up(std::expm1(x.value())); }

UpperBound log(UpperBound x) { return x.value() <= 1 ? UpperBound() : four_up(std::log(x.value())); }

UpperBound log1p(UpperBound x) { return x.value() == 0 ? UpperBound() : four_up(std::log1p(x.value())); }

UpperBound minus_log1m(UpperBound x) {
  if (x.value() >= 1) return UpperBound::infinity();
  return x.value() == 0 ? UpperBound() : four_up(-std::log1p(-x.value()));
}

UpperBound over_one_minus(UpperBound x) {
  if (x.value() >= 1) return UpperBound::infinity();
  if (x.value() == 0) return UpperBound(1);
  return next_up(1 / std::nextafter(1 - x.value(), 0.0));
}

UpperBound maximum(UpperBound a, UpperBound b) { return a.value() >= b.value() ? a : b; }

}  // namespace softcheck::numerics
