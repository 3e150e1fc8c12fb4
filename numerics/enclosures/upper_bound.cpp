#include "numerics/enclosures/upper_bound.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace softcheck::numerics {
namespace {

// The GNU C library documents errors of at most 1 ulp for exp, expm1, log and log1p on x86-64 ("Errors in Math
// Functions"); four steps leave room for another library.
UpperBound four_up(double computed) {
  UpperBound bound(computed);
  for (int i = 0; i < 4; ++i) bound = bound.next();
  return bound;
}

}  // namespace

void UpperBound::refuse(double value) {
  throw std::invalid_argument("UpperBound: need a value >= 0, got " + std::to_string(value));
}

// In units of the smallest subnormal number, so that no operand and no result of the processor's is subnormal. From
// product >= k + 1 follows rounded >= k + 1 for every whole k < 2^52, which is a double: the next whole number above
// the rounded product is above the product.
UpperBound UpperBound::small_product(double a, double b) {
  constexpr double smallest_normal = std::numeric_limits<double>::min();
  constexpr double half_way = 0x1p537;  // its square is 2^1074
  const auto units = [](double x) { return static_cast<double>(std::bit_cast<std::uint64_t>(x)); };
  if (a > b) std::swap(a, b);
  if (b < smallest_normal) return UpperBound(std::numeric_limits<double>::denorm_min());
  const double product = a < smallest_normal ? units(a) * b : (a * half_way) * (b * half_way);
  if (!(product < 0x1p52)) return UpperBound(a * b).next();
  return UpperBound(std::bit_cast<double>(static_cast<std::uint64_t>(product) + 1));  // the bits of so many units
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
  return UpperBound(1 / std::nextafter(1 - x.value(), 0.0)).next();
}

// IEEE 754 rounds it correctly.
UpperBound sqrt(UpperBound x) { return x.value() == 0 ? UpperBound() : UpperBound(std::sqrt(x.value())).next(); }

UpperBound maximum(UpperBound a, UpperBound b) { return a.value() >= b.value() ? a : b; }

UpperBound minimum(UpperBound a, UpperBound b) { return a.value() <= b.value() ? a : b; }

}  // namespace softcheck::numerics
