// Claims about the published quartic alone: certified roots, its shape, its slope.

#include <cmath>
#include <functional>
#include <stdexcept>
#include <string>

#include "theory/adaptive_temperature.hpp"

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_less;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

Enclosure curvature(const Enclosure& h, const QuarticThousandths& c) {
  return (Enclosure(12 * c[4]) * h * h + Enclosure(6 * c[3]) * h + Enclosure(2 * c[2])) / 1000;
}

Enclosure midpoint_of(const Enclosure& x) {
  Enclosure result;
  mpfi_mid(&result.data()->left, x.data());
  mpfr_set(&result.data()->right, &result.data()->left, MPFR_RNDN);
  return result;
}

using Function = std::function<Enclosure(const Enclosure&)>;

// The one root of f in [lower, upper], where f changes sign and its derivative does not: each Newton step
// N(X) = mid - f(mid)/f'(X) contains it, and so does its intersection with X.
Enclosure newton_root(const Function& f, const Function& derivative, double lower, double upper) {
  Enclosure x = Enclosure::between(lower, upper);
  const Enclosure left = f(Enclosure(lower)), right = f(Enclosure(upper)), slope = derivative(x);
  const bool changes = (left.certainly_negative() && right.certainly_positive() && slope.certainly_positive()) ||
                       (left.certainly_positive() && right.certainly_negative() && slope.certainly_negative());
  if (!changes) throw std::logic_error("newton_root: no certain change of sign between " + x.to_string());
  // Newton's steps square the width until rounding stops them.
  while (true) {
    const Enclosure middle = midpoint_of(x);
    const Enclosure next = intersection(x, middle - f(middle) / derivative(x));
    if (next.contains(x)) return next;
    x = next;
  }
}

// The largest value of f on [lower, upper], cell by cell: at an end where f is certainly monotone, else in mean-value
// form.
Enclosure largest_on(const Function& f, const Function& derivative, double lower, double upper) {
  constexpr int cells = 64;
  Enclosure result = maximum(f(Enclosure(lower)), f(Enclosure(upper)));
  for (int i = 0; i < cells; ++i) {
    const double a = lower + (upper - lower) * i / cells, b = lower + (upper - lower) * (i + 1) / cells;
    const Enclosure cell = Enclosure::between(a, b), slope = derivative(cell);
    if (slope.certainly_positive()) {
      result = maximum(result, f(Enclosure(b)));
    } else if (slope.certainly_negative()) {
      result = maximum(result, f(Enclosure(a)));
    } else {
      const Enclosure middle = midpoint_of(cell);
      result = maximum(result, f(middle) + slope * (cell - middle));
    }
  }
  return result;
}

// f < 0 one unit of the last printed digit below printed and f > 0 one above: the root is known to that digit.
Certificate certify_root(const std::string& claim, const std::string& what, const std::string& printed,
                         const Function& f) {
  const std::string unit = "1e-" + std::to_string(printed.size() - printed.find('.') - 1);
  return certify_less(claim, what + " changes sign at " + printed, [=] {
    const Enclosure below = f(Enclosure::decimal(printed) - Enclosure::decimal(unit));
    const Enclosure above = f(Enclosure::decimal(printed) + Enclosure::decimal(unit));
    return Sides{below, above, minimum(-below, above)};
  });
}

// Brackets of the roots: P - 1 and P' change sign in them and nowhere else, as certify_shape shows.
constexpr double first_low = 0.75, first_high = 1, last_low = 5.875, last_high = 6, top_low = 4.375, top_high = 4.4375;

// P' > 0 on [0, 4.375], P' < 0 on [4.4375, 16], and beyond 16 as there -0.148 H^3 + 1.443 H^2 < 0 and -4.6 H + 4.917 <
// 0: P rises to one maximum and falls, so that P > 1 exactly between two roots.
std::vector<Certificate> certify_shape(const QuarticThousandths& c) {
  const auto extreme = [c](double low, double high, int sign) {
    return [=] {
      const Function slope = [&](const Enclosure& h) { return sign * quartic_slope(h, c); };
      return largest_on(
          slope, [&](const Enclosure& h) { return sign * curvature(h, c); }, low, high);
    };
  };
  const auto rising = extreme(0, top_low, -1), falling = extreme(top_high, 16, 1);
  const std::string claim = "adaptive_temperature.active_interval";
  return {certify_less(claim, "-P' up to 4.375",
                       [=] {
                         return Sides{rising(), Enclosure(0)};
                       }),
          certify_less(claim, "P' on [4.4375, 16]",
                       [=] {
                         return Sides{falling(), Enclosure(0)};
                       }),
          certify_less(claim, "P' beyond 16, first pair of terms",
                       [=] {
                         return Sides{Enclosure(16 * 4 * c[4] + 3 * c[3]), Enclosure(0)};
                       }),
          certify_less(claim, "P' beyond 16, second pair of terms", [=] {
            return Sides{Enclosure(16 * 2 * c[2] + c[1]), Enclosure(0)};
          })};
}

ActiveInterval interval_of(const QuarticThousandths& c) {
  const Function above_one = [&](const Enclosure& h) { return quartic(h, c) - 1; };
  const Function slope = [&](const Enclosure& h) { return quartic_slope(h, c); };
  ActiveInterval result;
  result.first = newton_root(above_one, slope, first_low, first_high);
  result.last = newton_root(above_one, slope, last_low, last_high);
  result.at_maximum = newton_root(
      slope, [&](const Enclosure& h) { return curvature(h, c); }, top_low, top_high);
  result.maximum = quartic(result.at_maximum, c);
  return result;
}

}  // namespace

ActiveInterval active_interval() { return interval_of(published_quartic); }

std::vector<Certificate> certify_quartic(const QuarticThousandths& c) {
  const std::string active = "adaptive_temperature.active_interval", top = "adaptive_temperature.maximum";
  const Function value = [c](const Enclosure& h) { return quartic(h, c); };
  const Function slope = [c](const Enclosure& h) { return quartic_slope(h, c); };
  const Function fall = [c](const Enclosure& h) { return -quartic_slope(h, c); };
  const Function bend = [c](const Enclosure& h) { return curvature(h, c); };
  const Function unbend = [c](const Enclosure& h) { return -curvature(h, c); };
  std::vector<Certificate> all = certify_shape(c);
  all.push_back(
      certify_root(active, "P - 1", "0.848581996009869285", [=](const Enclosure& h) { return value(h) - 1; }));
  all.push_back(
      certify_root(active, "1 - P", "5.944520827905142861", [=](const Enclosure& h) { return 1 - value(h); }));
  all.push_back(certify_root(top, "-P'", "4.41240186596567", fall));
  all.push_back(certify_less_equal(top, "the digits of the largest value", [=] {
    const Enclosure largest = value(Enclosure::decimal("4.41240186596567"));
    return Sides{abs(largest - Enclosure::decimal("2.42138770663152")), Enclosure::decimal("1e-14")};
  }));
  // P rises up to 4.375 and falls from 4.4375 on (the shape above).
  all.push_back(certify_less_equal("adaptive_temperature.range", "largest P", [=] {
    return Sides{largest_on(value, slope, top_low, top_high), Enclosure::decimal(largest_beta)};
  }));
  all.push_back(certify_less("adaptive_temperature.dead_guard", "largest P on [0, 0.5]", [=] {
    return Sides{largest_on(value, slope, 0, 0.5), Enclosure(1)};
  }));
  all.push_back(certify_less("adaptive_temperature.inactive_for_two", "largest P on [0, 0.75], beyond ln 2", [=] {
    return Sides{largest_on(value, slope, 0, 0.75), Enclosure(1)};
  }));
  all.push_back(certify_less_equal("adaptive_temperature.lipschitz", "largest |P'| on the active interval", [=] {
    const ActiveInterval interval = active_interval();
    const double first = interval.first.lower_double(), last = interval.last.upper_double();
    return Sides{maximum(largest_on(slope, bend, first, last), largest_on(fall, unbend, first, last)),
                 Enclosure::decimal(lipschitz_constant)};
  }));
  return all;
}

}  // namespace softcheck::theory
