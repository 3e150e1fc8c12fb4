#include "theory/entropy_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "theory/tempered_row.hpp"

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

// Entropies of rows that differ in 2^-1074 only, divided by the largest theta in use, 1e30, differ by the third power
// of that: 3 * 1174 bits, and room for n.
constexpr unsigned bits_of_the_finest_difference = 4096;

Enclosure spread_factor(const Enclosure& d) { return hull(exp(-2 * d), exp(2 * d)); }

// Entropy and its distance from ln n at one precision, d = delta / theta.
//
// With K(b) = ln(S(b)/n), ln n - H = g(1) for g(b) = b K'(b) - K(b), g(0) = 0 and g' = b K'' = b Var_b(D). As p_i(b)
// and p_i(1) differ by a factor in [e^(-d), e^d], and Var = 1/2 sum sum p_i p_j (D_i - D_j)^2, the integral lies in
// Var_1(D)/2 [e^(-2d), e^(2d)]: a positive number, or exactly 0, even where the enclosures of the two entropies
// overlap.
class EntropyGaps {
 public:
  EntropyGaps(const LevelRow& row, double theta)
      : levels_(row),
        spread_{row.largest(), row.smallest(), theta},
        row_(row, 1 / Enclosure(theta)),
        entropy_(row_.entropy()),
        log_items_(log(row_.items())),
        narrow_(row_.spread().upper_double() <= 1),
        below_ceiling_(log_items_ - entropy_) {
    if (narrow_) below_ceiling_ = intersection(below_ceiling_, row_.variance() / 2 * spread_factor(row_.spread()));
  }

  Sides nonnegative() const { return {Enclosure(0), entropy_}; }
  Sides ceiling() const { return {entropy_, log_items_, below_ceiling_}; }

  Sides floor() const {
    const Enclosure& d = row_.spread();
    const Enclosure quadratic = square(d) / 8;
    const Enclosure floor = log_items_ - minimum(d, quadratic);
    if (narrow_) return {floor, entropy_, intersection(quadratic - below_ceiling_, narrow_floor_gap())};
    return {floor, entropy_, minimum(quadratic, d) - below_ceiling_};
  }

  // The least entropy is that of some k, so the gap is the largest of the gaps to them.
  Sides sharp_floor() const {
    if (levels_.all_equal()) return {entropy_, entropy_, Enclosure(0)};
    const CountRange range = least_entropy_counts(levels_.visible(), spread_);
    std::optional<Enclosure> least, gap;
    for (std::uint64_t k = range.first; k <= range.last; ++k) {
      const Enclosure floor = two_level_entropy(levels_.visible(), k, row_.spread());
      least = least ? minimum(*least, floor) : floor;
      gap = gap ? maximum(*gap, gap_to(k, floor)) : gap_to(k, floor);
    }
    const bool told = gap->certainly_nonnegative() || gap->certainly_negative();
    if (!told && numerics::working_precision() == numerics::precision_ladder.back()) {
      const numerics::PrecisionScope scope(bits_of_the_finest_difference);
      gap = EntropyGaps(levels_, spread_.theta).sharp_floor().gap;
    }
    return {*least, entropy_, gap};
  }

 private:
  // d^2/8 - (ln n - H) = integral of b (d^2/4 - Var_b), and d^2/4 - Var_b = (d/2 - E_b[D])^2 + E_b[D E] (Bhatia and
  // Davis, 2000) with D, E >= 0 the distances from the largest and the smallest logit.
  Enclosure narrow_floor_gap() const {
    const Enclosure& d = row_.spread();
    Enclosure products;
    for (std::size_t j = 0; j < row_.levels(); ++j) {
      products += row_.count(j) * row_.coefficient(j) * row_.deviation(j) * row_.rise(j);
    }
    return hull(products * exp(-d), products * exp(d) + square(d) / 4) / 2;
  }

  // H - floor, floor being the entropy of the row of two values with k at the maximum; times a positive factor.
  Enclosure gap_to(std::uint64_t k, const Enclosure& floor) const {
    const bool same_top = levels_.levels().front().count == k;
    if (same_top && levels_.levels().size() == 2) return {};
    if (narrow_) {
      const Enclosure n = row_.items(), top = count_as<Enclosure>(k);
      const Enclosure variance = top * (n - top) / square(n) * square(row_.spread());
      return intersection(entropy_ - floor, variance / 2 * spread_factor(row_.spread()) - below_ceiling_);
    }
    const BetaStep at{1 / Enclosure(spread_.theta), Enclosure(0)};
    const auto magnifying = magnifying_logit(levels_, at.beta);
    if (!same_top || !magnifying) return entropy_ - floor;
    const LevelRow vertex({{levels_.largest(), k}, {levels_.smallest(), levels_.visible() - k}});
    return excess_entropy(levels_, at, magnifying) - excess_entropy(vertex, at, magnifying);
  }

  LevelRow levels_;
  Spread spread_;
  TemperedRow row_;
  Enclosure entropy_, log_items_;
  bool narrow_;
  Enclosure below_ceiling_;  // ln n - H
};

}  // namespace

CountRange least_entropy_counts(std::uint64_t n, const Spread& spread) {
  if (n < 2) throw std::invalid_argument("least_entropy_counts: need n >= 2, got " + std::to_string(n));
  if (spread.largest == spread.smallest) return {1, 1};  // all k are equal
  const Enclosure rough = spread.exponent();
  // d - 1 + e^(-d) is d^2/2 - ...: twice the exponent of a small d is lost.
  const long lost = 2 * std::max(0L, -static_cast<long>(mpfr_get_exp(&rough.data()->left)));
  const numerics::PrecisionScope scope(128 + static_cast<unsigned>(lost));
  const Enclosure d = spread.exponent(), t = exp(-d);
  const Enclosure place = count_as<Enclosure>(n) * (d - 1 + t) * t / square(1 - t);
  const auto clamp = [n](double k) {
    return k <= 1 ? std::uint64_t{1} : std::min(n - 1, static_cast<std::uint64_t>(k));
  };
  return {clamp(std::floor(place.lower_double())), clamp(std::ceil(place.upper_double()))};
}

Enclosure largest_entropy_deficit(const Enclosure& spread) {
  if (spread.is_point() && spread.contains(0.0)) return {};
  const Enclosure q = spread / -expm1(-spread);
  return q - Enclosure(1) - log(q);
}

Enclosure entropy_floor(std::uint64_t n, const Spread& spread) {
  if (n == 1) return {};
  const CountRange range = least_entropy_counts(n, spread);
  Enclosure least = two_level_entropy(n, range.first, spread.exponent());
  for (std::uint64_t k = range.first + 1; k <= range.last; ++k) {
    least = minimum(least, two_level_entropy(n, k, spread.exponent()));
  }
  return least;
}

std::vector<Certificate> certify_entropy_bounds(const LevelRow& row, double theta) {
  require_theta("certify_entropy_bounds", theta);
  auto gaps = at_each_precision([&] { return EntropyGaps(row, theta); });
  const std::string witness = witness_text(row, theta);
  return {certify_less_equal("entropy_bounds.nonnegative", witness, [&] { return gaps().nonnegative(); }),
          certify_less_equal("entropy_bounds.ceiling", witness, [&] { return gaps().ceiling(); }),
          certify_less_equal("entropy_bounds.floor", witness, [&] { return gaps().floor(); })};
}

Certificate certify_sharp_floor(const LevelRow& row, double theta) {
  require_theta("certify_sharp_floor", theta);
  return certify_less_equal("entropy_bounds.sharp_floor", witness_text(row, theta),
                            [&] { return EntropyGaps(row, theta).sharp_floor(); });
}

}  // namespace softcheck::theory
