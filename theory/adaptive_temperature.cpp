#include "theory/adaptive_temperature.hpp"

#include <optional>
#include <string>

#include "theory/lemma_2_1.hpp"
#include "theory/tempered_row.hpp"

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_less_equal;
using numerics::Decision;
using numerics::Enclosure;
using numerics::Sides;

namespace {

std::string claim_id(const char* name) { return std::string("adaptive_temperature.") + name; }

// One row at temperature theta with its beta(H), at one precision.
struct AdaptiveRow {
  AdaptiveRow(const LevelRow& row, double theta, const QuarticThousandths& c)
      : inverse_theta(1 / Enclosure(theta)),
        plain(row, inverse_theta),
        value(quartic(plain.entropy(), c)),
        beta(maximum(value, Enclosure(1))),
        sharpened(row, inverse_theta * beta),
        interval(active_interval()) {}

  Enclosure inverse_theta;
  TemperedRow plain;
  Enclosure value;  // P(H)
  Enclosure beta;
  TemperedRow sharpened;  // softmax(beta e)
  ActiveInterval interval;
};

// H(softmax(beta e)) <= H(softmax(e)): beta = 1 + something >= 0 and Proposition 3.2.
Sides entropies(const LevelRow& row, const AdaptiveRow& at) {
  const Enclosure before = at.plain.entropy(), after = at.sharpened.entropy();
  const Enclosure step = at.inverse_theta * maximum(at.value - 1, Enclosure(0));
  const Enclosure drop = entropy_drop(row, {at.inverse_theta, step});
  const bool plain = !magnifying_logit(row, at.inverse_theta);
  return {after, before, plain ? intersection(before - after, drop) : drop};
}

// alpha <= e^B / n and alpha <= 1/(1 + (n-1) e^(-B)) for B = 2.42139 delta / theta, at the largest logit. The gaps are
// S - n e^(-B) and S - 1 - (n-1) e^(-B), sums of w_j (1 - e^(-(B - D_j))) with B - D_j made of terms >= 0.
struct Dispersion {
  Sides paper, sharp;
};

Dispersion dispersion(const LevelRow& row, const AdaptiveRow& at) {
  const Enclosure largest = Enclosure::decimal(largest_beta);
  const Enclosure exponent = largest * at.plain.spread(), small = exp(-exponent);
  Enclosure all, others;
  for (std::size_t j = 0; j < row.levels().size(); ++j) {
    const Enclosure rest = (largest - at.beta) * at.plain.spread() + at.beta * at.plain.rise(j);
    const Enclosure term = at.sharpened.weight(j) * -expm1(-rest);
    all += at.sharpened.count(j) * term;
    others += (j == 0 ? at.sharpened.count(j) - 1 : at.sharpened.count(j)) * term;
  }
  const Enclosure& n = at.plain.items();
  const Enclosure& sum = at.sharpened.sum();
  const Enclosure coefficient = at.sharpened.coefficient(0), floor = 1 + (n - 1) * small;
  const auto bounds = lemma_2_1_bounds(row.visible(), exponent),
             sharp = lemma_2_1_sharp_bounds(row.visible(), exponent);
  return {{coefficient, bounds.upper, intersection(1 / n - small * coefficient, all / (sum * n))},
          {coefficient, sharp.upper, intersection(sharp.upper - coefficient, others / (sum * floor))}};
}

// p ln(1 + epsilon / p), in [0, epsilon] also where p is too small for any number.
Enclosure epsilon_term(const Enclosure& coefficient, const Enclosure& epsilon) {
  if (!coefficient.certainly_positive()) return hull(Enclosure(0), epsilon);
  return coefficient * log1p(epsilon / coefficient);
}

Certificate certify_beta_is_one(const char* claim, const LevelRow& row, double theta, const QuarticThousandths& c) {
  return certify_less_equal(claim_id(claim), witness_text(row, theta), [&] {
    return Sides{quartic(TemperedRow(row, 1 / Enclosure(theta)).entropy(), c), Enclosure(1)};
  });
}

// The row, at a temperature that makes its spread at most 1, repeated until ln n - delta >= 5.94453.
Certificate certify_identity(const LevelRow& row, double theta, const QuarticThousandths& c) {
  double wide = theta;
  while (Spread{row.largest(), row.smallest(), wide}.exponent().upper_double() > 1 && wide < 0x1p1022) wide *= 2;
  const Enclosure spread = Spread{row.largest(), row.smallest(), wide}.exponent();
  const Enclosure needed = exp(Enclosure::decimal(inactive_from) + spread) / count_as<Enclosure>(row.visible());
  return certify_beta_is_one("identity", row.repeated(static_cast<std::uint64_t>(needed.upper_double()) + 1), wide, c);
}

// P(H) > 1 exactly if H lies in the active interval: certainly inside, certainly outside, or undecided at this
// precision.
Sides activity(const AdaptiveRow& at) {
  const Enclosure entropy = at.plain.entropy();
  const Enclosure inside = minimum(entropy - at.interval.first, at.interval.last - entropy);
  if (inside.certainly_positive()) return {Enclosure(1), at.value};
  if (inside.certainly_negative()) return {at.value, Enclosure(1)};
  return {Enclosure(0), Enclosure(1), inside * (at.value - 1)};  // undecided, and so is the sign of the product
}

// |beta(H) - beta(H')| = |P(a) - P(b)|, where a and b are the entropies clamped to the active interval, which does not
// increase their distance; P(a) - P(b) = (a - b) Q(a, b).
Sides lipschitz(const AdaptiveRow& at, const Enclosure& second, const QuarticThousandths& c) {
  const Enclosure first = at.plain.entropy();
  const auto moved = [&](const Enclosure& h) { return minimum(maximum(h, at.interval.first), at.interval.last); };
  const Enclosure a = moved(first), b = moved(second);
  Enclosure quotient, powers(1);  // powers = sum a^i b^j, i + j = k - 1
  Enclosure power_of_a = a;
  for (int k = 1; k <= 4; ++k) {
    quotient += Enclosure(c[k]) * powers / 1000;
    powers = powers * b + power_of_a;
    power_of_a *= a;
  }
  const Enclosure constant = Enclosure::decimal(lipschitz_constant);
  const Enclosure left = abs(inverse_temperature(first, c) - inverse_temperature(second, c));
  const Enclosure distance = abs(first - second);
  return {left, constant * distance,
          intersection(constant * distance - left, (constant - abs(quotient)) * distance +
                                                       abs(quotient) * maximum(distance - abs(a - b), Enclosure(0)))};
}

Sides guarded(const AdaptiveRow& at) {
  // If H > 0.5, the guard returns beta; if H <= 0.5, it returns 1; if undecided, one of the two.
  const Decision above = numerics::less(Enclosure(0.5), at.plain.entropy());
  if (above == Decision::proved) return {at.beta, at.beta, Enclosure(0)};
  const Enclosure with_guard = above == Decision::violated ? Enclosure(1) : hull(Enclosure(1), at.beta);
  return {with_guard, at.beta, at.beta - with_guard};
}

}  // namespace

Enclosure epsilon_gap(const LevelRow& row, double theta, const Enclosure& epsilon) {
  const TemperedRow plain(row, 1 / Enclosure(theta));
  Enclosure sum;
  for (std::size_t j = 0; j < plain.levels(); ++j) sum += plain.count(j) * epsilon_term(plain.coefficient(j), epsilon);
  return sum;
}

std::vector<Certificate> certify_beta(const LevelRow& row, double theta, const QuarticThousandths& c) {
  require_theta("certify_beta", theta);
  const std::string witness = witness_text(row, theta);
  auto at = at_each_precision([&] { return AdaptiveRow(row, theta, c); });
  const auto at_twice_theta = [&] { return TemperedRow(row, 1 / (2 * Enclosure(theta))).entropy(); };
  const LevelRow two(row.visible() == 1 ? std::vector<Level>{{row.largest(), 1}}
                                        : std::vector<Level>{{row.largest(), 1}, {row.smallest(), 1}});
  return {certify_less_equal(claim_id("active_interval"), witness, [&] { return activity(at()); }),
          certify_less_equal(claim_id("range"), witness,
                             [&] {
                               return Sides{at().beta, Enclosure::decimal(largest_beta)};
                             }),
          certify(claim_id("dead_guard"), witness, numerics::Relation::equal, [&] { return guarded(at()); }),
          certify_beta_is_one("inactive_for_two", two, theta, c),
          certify_less_equal(claim_id("lipschitz"), witness, [&] { return lipschitz(at(), at_twice_theta(), c); })};
}

std::vector<Certificate> certify_adaptive_softmax(const LevelRow& row, double theta, const QuarticThousandths& c) {
  require_theta("certify_adaptive_softmax", theta);
  const std::string witness = witness_text(row, theta);
  auto at = at_each_precision([&] { return AdaptiveRow(row, theta, c); });
  return {certify_less_equal(claim_id("never_increases_entropy"), witness, [&] { return entropies(row, at()); }),
          certify_less_equal(claim_id("disperses"), witness, [&] { return dispersion(row, at()).paper; }),
          certify_less_equal(claim_id("disperses"), witness, [&] { return dispersion(row, at()).sharp; }),
          certify_identity(row, theta, c)};
}

std::vector<Certificate> certify_epsilon_gap(const LevelRow& row, double theta) {
  require_theta("certify_epsilon_gap", theta);
  const std::string witness = witness_text(row, theta), claim = claim_id("epsilon_gap");
  auto gap = at_each_precision([&] { return epsilon_gap(row, theta, Enclosure::decimal("1e-9")); });
  const auto allowed = [&] { return Enclosure::decimal("1e-9") * count_as<Enclosure>(row.visible()); };
  return {certify_less_equal(claim, witness,
                             [&] {
                               return Sides{Enclosure(0), gap()};
                             }),
          certify_less_equal(claim, witness, [&] {
            return Sides{gap(), allowed()};
          })};
}

std::vector<Certificate> certify_adaptive_temperature(std::span<const double> logits, double theta) {
  if (!has_visible(logits)) return {};
  const LevelRow row(logits);
  std::vector<Certificate> all = certify_beta(row, theta);
  for (auto& certificate : certify_adaptive_softmax(row, theta)) all.push_back(std::move(certificate));
  for (auto& certificate : certify_epsilon_gap(row, theta)) all.push_back(std::move(certificate));
  return all;
}

}  // namespace softcheck::theory
