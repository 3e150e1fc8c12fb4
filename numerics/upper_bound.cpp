#include "numerics/upper_bound.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

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

UpperBound maximum(UpperBound a, UpperBound b) { return a.value() >= b.value() ? a : b; }

}  // namespace softcheck::numerics
