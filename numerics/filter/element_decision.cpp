#include "numerics/filter/element_decision.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::numerics {
namespace {

/// max(floor(log2 p), min_exponent) for an end of an enclosure of p in [0, 1].
long binade(mpfr_srcptr p, const FormatProperties& format) {
  const bool positive = mpfr_regular_p(p) && mpfr_sgn(p) > 0;
  return positive ? std::max<long>(format.min_exponent, mpfr_get_exp(p) - 1) : format.min_exponent;
}

Enclosure ulp_of_binade(long exponent, const FormatProperties& format) {
  return Enclosure::power_of_two(exponent - format.precision + 1);
}

/// The part of the tolerance that is independent of p.
Enclosure constant_part(const ElementTolerance& tolerance, const Enclosure& ulp, double got) {
  return Enclosure(tolerance.ulps) * ulp + Enclosure(tolerance.absolute) + Enclosure(got == 0 ? tolerance.flushed : 0);
}

Enclosure slope_part(const ElementTolerance& tolerance, const Enclosure& deviation) {
  return Enclosure(tolerance.relative) + Enclosure(tolerance.per_deviation) * deviation;
}

Decision both(Decision a, Decision b) {
  const std::array<Decision, 2> sides{a, b};
  return all_of(sides);
}

/// 1 / p = count + rest.
struct Reciprocal {
  Enclosure count;
  Enclosure rest;
  bool rest_is_positive;  // known even if exp underflows the enclosures' range, as exp(-1e308)
};

/// factor * rest <= value, if only the sign of the rest may be known.
Decision rest_at_most(const Reciprocal& reciprocal, const Enclosure& factor, const Enclosure& value) {
  const Decision decision = less_equal(factor * reciprocal.rest, value);
  if (decision != Decision::undecided || !reciprocal.rest_is_positive) return decision;
  if (factor.certainly_positive() && value.certainly_nonpositive()) return Decision::violated;
  return factor.certainly_nonpositive() && value.certainly_nonnegative() ? Decision::proved : decision;
}

Reciprocal reciprocal_of(std::span<const double> logits, double theta, std::size_t i) {
  std::uint64_t count = 0;
  Enclosure rest;
  bool far = false;
  bool equal = true;  // all near items are equal
  for (std::size_t j = 0; j < logits.size(); ++j) {
    if (std::isinf(logits[j])) continue;
    const Enclosure difference = (Enclosure(logits[j]) - Enclosure(logits[i])) / Enclosure(theta);
    // Any limit gives the correct sum; near it expm1 keeps its accuracy.
    const bool near = std::fabs(logits[j] - logits[i]) <= theta / 2;
    if (near) ++count;
    far = far || !near;
    equal = equal && (!near || logits[j] == logits[i]);
    rest += near ? expm1(difference) : exp(difference);
  }
  return {Enclosure::integer(count), rest, far && equal};
}

/// The ulp at p: compares 1 / p with the power of two that may lie in an enclosure of p.
Enclosure ulp_at(const Reciprocal& reciprocal, const FormatProperties& format) {
  const Enclosure p = Enclosure(1) / (reciprocal.count + reciprocal.rest);
  const long low = binade(&p.data()->left, format);
  const long high = binade(&p.data()->right, format);
  if (low != high) {
    const Decision reaches = rest_at_most(reciprocal, Enclosure(1), Enclosure::power_of_two(-high) - reciprocal.count);
    if (reaches == Decision::proved) return ulp_of_binade(high, format);
    if (reaches == Decision::violated && high == low + 1) return ulp_of_binade(low, format);
  }
  return hull(ulp_of_binade(low, format), ulp_of_binade(high, format));
}

}  // namespace

// Decides |got - p| <= constant + slope p as got - constant <= (1 + slope) p and (1 - slope) p <= got + constant, both
// multiplied by S. Combines exact quantities first, so that a value exactly at its tolerance is decided however small p
// is, and rows whose sum is an integer are decided even on equality.
Decision decide_element(const RowOracle& oracle, std::span<const double> logits, std::size_t i, double got,
                        const ElementTolerance& tolerance) {
  const FormatProperties& format = properties(tolerance.format);
  const bool masked = std::isinf(logits[i]);
  const Enclosure sum = oracle.sum();
  const Enclosure deviation = masked ? Enclosure(0) : oracle.deviation(i);
  const Enclosure weight = masked ? Enclosure(0) : exp(-deviation);
  const Enclosure p = masked ? Enclosure(0) : oracle.softmax(i);
  const Enclosure ulp = hull(ulp_of_binade(binade(&p.data()->left, format), format),
                             ulp_of_binade(binade(&p.data()->right, format), format));
  const Enclosure constant = constant_part(tolerance, ulp, got);
  const Enclosure slope = slope_part(tolerance, deviation);
  return both(less_equal((Enclosure(got) - constant) * sum, (Enclosure(1) + slope) * weight),
              less_equal((Enclosure(1) - slope) * weight, (Enclosure(got) + constant) * sum));
}

Decision decide_element_by_reciprocal(std::span<const double> logits, double theta, std::size_t i, double got,
                                      const ElementTolerance& tolerance) {
  const double maximum = *std::max_element(logits.begin(), logits.end());
  if (std::isinf(logits[i])) return Decision::undecided;  // p = 0 exactly: decide_element is already exact
  const Reciprocal reciprocal = reciprocal_of(logits, theta, i);
  const Enclosure deviation = (Enclosure(maximum) - Enclosure(logits[i])) / Enclosure(theta);
  const Enclosure constant = constant_part(tolerance, ulp_at(reciprocal, properties(tolerance.format)), got);
  const Enclosure slope = slope_part(tolerance, deviation);
  const Enclosure low = Enclosure(got) - constant;
  const Enclosure high = Enclosure(got) + constant;
  return both(rest_at_most(reciprocal, low, Enclosure(1) + slope - low * reciprocal.count),
              rest_at_most(reciprocal, -high, high * reciprocal.count - Enclosure(1) + slope));
}

}  // namespace softcheck::numerics
