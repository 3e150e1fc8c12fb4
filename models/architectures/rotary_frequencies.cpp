#include "models/architectures/rotary_frequencies.hpp"

#include <cmath>

namespace softcheck::models {
namespace {

using numerics::Enclosure;

Enclosure within_unit(const Enclosure& x) { return minimum(maximum(x, Enclosure(0)), Enclosure(1)); }

Enclosure turns(const Enclosure& frequency, const Enclosure& context) {
  return frequency * context / (Enclosure(2) * Enclosure::pi());
}

/// The plane, as a real number, that turns so many times within the context.
Enclosure plane_with(const Enclosure& rotations, const Enclosure& base, std::int64_t width, const Enclosure& context) {
  return Enclosure(width) * log(context / (rotations * Enclosure(2) * Enclosure::pi())) / (Enclosure(2) * log(base));
}

/// Rounded to whole numbers, downward or upward: two of them where the enclosure has a whole number inside.
Enclosure whole(const Enclosure& x, double (*round)(double)) {
  return Enclosure::between(round(x.lower_double()), round(x.upper_double()));
}

double down(double x) { return std::floor(x); }
double up(double x) { return std::ceil(x); }

}  // namespace

std::vector<Enclosure> base_frequencies(const Enclosure& base, std::int64_t width) {
  const Enclosure log_base = log(base);
  std::vector<Enclosure> frequencies;
  for (std::int64_t plane = 0; plane < width / 2; ++plane) {
    frequencies.push_back(exp(-(Enclosure(2 * plane) / Enclosure(width)) * log_base));
  }
  return frequencies;
}

std::vector<Enclosure> llama3_frequencies(std::vector<Enclosure> base, const Llama3Scaling& scaling) {
  for (Enclosure& frequency : base) {
    // The three cases of the source meet continuously, so that none must be decided.
    const Enclosure kept =
        within_unit((turns(frequency, scaling.original_context) - scaling.low) / (scaling.high - scaling.low));
    frequency = frequency * (kept + (Enclosure(1) - kept) / scaling.factor);
  }
  return base;
}

std::vector<Enclosure> yarn_frequencies(const Enclosure& base, std::int64_t width, const YarnScaling& scaling) {
  Enclosure first = plane_with(scaling.beta_fast, base, width, scaling.original_context);
  Enclosure last = plane_with(scaling.beta_slow, base, width, scaling.original_context);
  if (scaling.truncate) {
    first = whole(first, down);
    last = whole(last, up);
  }
  first = maximum(first, Enclosure(0));
  last = minimum(last, Enclosure(width - 1));
  // As the source does, and for its reason.
  if (first.is_point() && last.is_point() && first.midpoint() == last.midpoint()) last += Enclosure(0.001);
  std::vector<Enclosure> frequencies = base_frequencies(base, width);
  for (std::size_t plane = 0; plane < frequencies.size(); ++plane) {
    const Enclosure slowed = within_unit((Enclosure(plane) - first) / (last - first));
    frequencies[plane] = frequencies[plane] * (Enclosure(1) - slowed + slowed / scaling.factor);
  }
  return frequencies;
}

Enclosure yarn_magnitude(double factor, double m) {
  if (factor <= 1) return Enclosure(1);
  return Enclosure::decimal("0.1") * Enclosure(m) * log(Enclosure(factor)) + Enclosure(1);
}

}  // namespace softcheck::models
