#include "theory/lemma_2_1.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "theory/tempered_row.hpp"

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_less;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

constexpr std::uint64_t largest_length = std::uint64_t{1} << 62;

// 1 - exp(-x) for x >= 0.
Enclosure fall(const Enclosure& x) { return -expm1(-x); }

// The claims of Lemma 2.1 at one precision. With D, E, w, S as in TemperedRow and d = D_last the gaps are
//   lower        n - S e^(-E_k)               = sum_j (1 - w_j)                    + S (1 - e^(-E_k))
//   upper        S - n e^(-d - D_k)           = sum_j w_j (1 - e^(-E_j))           + n e^(-d) (1 - e^(-D_k))
//   sharp lower  e^(-d) + n - 1 - S e^(-E_k)  = the first sum without one smallest item + S (1 - e^(-E_k))
//   sharp upper  S - w_k (1 + (n-1) e^(-d))   = the second sum without one largest item + (1 + (n-1) e^(-d)) (1 - w_k)
// times positive factors: all terms are >= 0, and 0 exactly where two logits are equal.
class CoefficientGaps {
 public:
  CoefficientGaps(const LevelRow& row, double theta)
      : row_(row, 1 / Enclosure(theta)),
        small_(exp(-row_.spread())),
        bounds_(lemma_2_1_bounds(row.visible(), row_.spread())),
        sharp_(lemma_2_1_sharp_bounds(row.visible(), row_.spread())) {
    const std::size_t last = row_.levels() - 1;
    for (std::size_t j = 0; j <= last; ++j) {
      below_top_ += row_.count(j) * fall(row_.deviation(j));
      above_bottom_ += row_.count(j) * row_.weight(j) * fall(row_.rise(j));
      below_top_of_others_ += (j == last ? row_.count(j) - 1 : row_.count(j)) * fall(row_.deviation(j));
      above_bottom_of_others_ += (j == 0 ? row_.count(j) - 1 : row_.count(j)) * row_.weight(j) * fall(row_.rise(j));
    }
  }

  Sides lower() const {
    return over_levels(row_.levels() - 1, bounds_.lower, true, [&](std::size_t k) {
      const Enclosure gap = (below_top_ + row_.sum() * fall(row_.rise(k))) * row_.coefficient(k) / row_.items();
      return intersection(row_.coefficient(k) - bounds_.lower, gap);
    });
  }

  // Times e^(-d), as e^d may overflow.
  Sides upper() const {
    return over_levels(0, bounds_.upper, false, [&](std::size_t k) {
      const Enclosure gap =
          (above_bottom_ + row_.items() * small_ * fall(row_.deviation(k))) / (row_.sum() * row_.items());
      return intersection(1 / row_.items() - small_ * row_.coefficient(k), gap);
    });
  }

  Sides sharp_lower() const {
    return over_levels(row_.levels() - 1, sharp_.lower, true, [&](std::size_t k) {
      const Enclosure gap = (below_top_of_others_ + row_.sum() * fall(row_.rise(k))) * row_.coefficient(k);
      return intersection(row_.coefficient(k) - sharp_.lower, gap / (small_ + row_.items() - 1));
    });
  }

  Sides sharp_upper() const {
    return over_levels(0, sharp_.upper, false, [&](std::size_t k) {
      const Enclosure others = 1 + (row_.items() - 1) * small_;
      const Enclosure gap = (above_bottom_of_others_ + others * fall(row_.deviation(k))) / (row_.sum() * others);
      return intersection(sharp_.upper - row_.coefficient(k), gap);
    });
  }

 private:
  // The claim for all levels at once: its gap is the least of theirs; the sides shown are those of one level.
  template <class Gap>
  Sides over_levels(std::size_t shown, const Enclosure& bound, bool bound_is_left, Gap gap) const {
    Enclosure least = gap(0);
    for (std::size_t k = 1; k < row_.levels(); ++k) least = minimum(least, gap(k));
    const Enclosure coefficient = row_.coefficient(shown);
    return bound_is_left ? Sides{bound, coefficient, least} : Sides{coefficient, bound, least};
  }

  TemperedRow row_;
  Enclosure small_;  // e^(-d)
  CoefficientBounds<Enclosure> bounds_, sharp_;
  Enclosure below_top_, above_bottom_, below_top_of_others_, above_bottom_of_others_;
};

// eps (c - 1) - (1 - eps) e^d: its sign is that of c - (1 + e^d (1 - eps)/eps). Exact but for expm1(d).
Enclosure length_gap(std::uint64_t c, const Enclosure& eps, const Enclosure& d) {
  return (Enclosure::integer(c) * eps - 1) - (1 - eps) * expm1(d);
}

Enclosure log_length(const Enclosure& eps, const Enclosure& d) { return d + log((1 - eps) / eps + exp(-d)); }

void require(const Spread& spread, double eps) {
  const bool fine =
      eps > 0 && eps < 1 && spread.theta > 0 && std::isfinite(spread.theta) && spread.largest >= spread.smallest;
  if (fine) return;
  throw std::invalid_argument("dispersion_length: need 0 < eps < 1, theta > 0 and largest >= smallest, got eps " +
                              std::to_string(eps) + ", theta " + std::to_string(spread.theta) + ", logits " +
                              std::to_string(spread.largest) + " and " + std::to_string(spread.smallest));
}

}  // namespace

DispersionLength dispersion_length(const Spread& spread, double eps) {
  require(spread, eps);
  DispersionLength result;
  {
    const numerics::PrecisionScope scope(113);
    result.log_items = log_length(Enclosure(eps), spread.exponent());
    if (less(result.log_items, log(Enclosure::integer(largest_length))) != numerics::Decision::proved) return result;
  }
  // N < 2^62 and thus eps > 2^-62: c * eps - 1 is exact at 512 bits.
  const numerics::PrecisionScope scope(512);
  const Enclosure d = spread.exponent();
  const Enclosure length = 1 + (1 - Enclosure(eps)) / Enclosure(eps) * exp(d);
  const std::uint64_t candidate = mpfr_get_uj(&length.data()->left, MPFR_RNDU);
  switch (numerics::less_equal(Enclosure(0), length_gap(candidate, Enclosure(eps), d))) {
    case numerics::Decision::proved:
      result.items = candidate;
      break;
    case numerics::Decision::violated:
      result.items = candidate + 1;
      break;
    case numerics::Decision::undecided:  // e^d within 2^-400 of a rational with 115 bits: a larger N is still right
      result.items = candidate + 1;
      break;
  }
  return result;
}

std::vector<Certificate> certify_dispersion_length(const Spread& spread, double eps) {
  const std::string claim = "lemma_2_1.dispersion_length";
  const std::string witness = "spread " + numerics::hex_float(spread.largest) + " - " +
                              numerics::hex_float(spread.smallest) + " theta=" + numerics::hex_float(spread.theta) +
                              " eps=" + numerics::hex_float(eps);
  const DispersionLength length = dispersion_length(spread, eps);
  if (!length.items) {
    return {certify_less_equal(claim, witness, [&] {
      const Enclosure d = spread.exponent(), log_ratio = log((1 - Enclosure(eps)) / Enclosure(eps));
      const Enclosure log_items = log_length(Enclosure(eps), d);
      return Sides{d + log_ratio, log_items, intersection(log_items - (d + log_ratio), log1p(exp(-d - log_ratio)))};
    })};
  }
  const std::uint64_t n = *length.items;
  // eps - 1/(1 + (c - 1) e^(-d)), the sharp upper bound of c items: length_gap(c) e^(-d) over a positive number.
  const auto sides = [&](std::uint64_t c) {
    const Enclosure d = spread.exponent();
    const Enclosure bound = lemma_2_1_sharp_bounds(c, d).upper;
    const Enclosure gap = length_gap(c, Enclosure(eps), d) * exp(-d) * bound;
    return Sides{bound, Enclosure(eps), intersection(Enclosure(eps) - bound, gap)};
  };
  return {certify_less(claim, witness + " n=" + std::to_string(n + 1), [&] { return sides(n + 1); }),
          certify_less_equal(claim, witness + " n=" + std::to_string(n - 1), [&] {
            const Sides mirrored = sides(n - 1);
            return Sides{mirrored.right, mirrored.left, -*mirrored.gap};
          })};
}

std::vector<Certificate> certify_coefficient_bounds(const LevelRow& row, double theta) {
  require_theta("certify_coefficient_bounds", theta);
  auto gaps = at_each_precision([&] { return CoefficientGaps(row, theta); });
  const std::string witness = witness_text(row, theta);
  return {certify_less_equal("lemma_2_1.lower", witness, [&] { return gaps().lower(); }),
          certify_less_equal("lemma_2_1.upper", witness, [&] { return gaps().upper(); }),
          certify_less_equal("lemma_2_1.sharp_lower", witness, [&] { return gaps().sharp_lower(); }),
          certify_less_equal("lemma_2_1.sharp_upper", witness, [&] { return gaps().sharp_upper(); })};
}

SharpSides sharp_sides(const LevelRow& row, double theta) {
  require_theta("sharp_sides", theta);
  const CoefficientGaps gaps(row, theta);
  return {gaps.sharp_lower(), gaps.sharp_upper()};
}

// The two rows of the same length and the same two logits that reach the sharp bounds.
std::vector<Certificate> certify_sharp_bounds_attained(const LevelRow& row, double theta) {
  require_theta("certify_sharp_bounds_attained", theta);
  const std::uint64_t others = row.visible() - 1;
  std::vector<Level> one_high{{row.largest(), 1}}, one_low{{row.smallest(), 1}};
  if (others > 0) {
    one_high.push_back({row.smallest(), others});
    one_low.push_back({row.largest(), others});
  }
  const LevelRow sharpest(std::move(one_high)), flattest(std::move(one_low));
  // The gap of this item suffices: it is 0, so no other level has a smaller one.
  return {certify("lemma_2_1.attained", witness_text(sharpest, theta), numerics::Relation::equal,
                  [&] { return CoefficientGaps(sharpest, theta).sharp_upper(); }),
          certify("lemma_2_1.attained", witness_text(flattest, theta), numerics::Relation::equal,
                  [&] { return CoefficientGaps(flattest, theta).sharp_lower(); })};
}

std::optional<double> own_coefficient_bound(const LevelRow& row, double theta) {
  const Enclosure exponent = Spread{row.largest(), row.smallest(), theta}.exponent();
  const double bound = lemma_2_1_sharp_bounds(row.visible(), exponent).upper.upper_double();
  return bound > 0 && bound < 1 ? std::optional(bound) : std::nullopt;
}

std::vector<Certificate> certify_lemma_2_1(std::span<const double> logits, double theta) {
  require_theta("certify_lemma_2_1", theta);
  if (!has_visible(logits)) return {};
  const LevelRow row(logits);
  std::vector<Certificate> all = certify_coefficient_bounds(row, theta);
  const auto append = [&](std::vector<Certificate> more) {
    for (Certificate& certificate : more) all.push_back(std::move(certificate));
  };
  append(certify_sharp_bounds_attained(row, theta));
  const Spread spread{row.largest(), row.smallest(), theta};
  for (const double eps : {0.5, 0.1, 0x1p-10}) append(certify_dispersion_length(spread, eps));
  if (const auto own = own_coefficient_bound(row, theta)) append(certify_dispersion_length(spread, *own));
  return all;
}

}  // namespace softcheck::theory
