#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "theory/level_row.hpp"
#include "theory/scalar.hpp"

namespace softcheck::theory {

template <Scalar T>
struct CoefficientBounds {
  T lower;
  T upper;
};

/// Lemma 2.1 as the paper states it, eqs (6)-(8): every coefficient of softmax_theta of n logits in [m, M] lies in
/// [(1/n) e^(-delta/theta), (1/n) e^(delta/theta)], delta = M - m.
///
/// n        >= 1          exponent   delta / theta >= 0
template <Scalar T>
CoefficientBounds<T> lemma_2_1_bounds(std::uint64_t n, const T& exponent) {
  const T items = count_as<T>(n);
  return {exp(-exponent) / items, exp(exponent) / items};
}

/// The sharp form: 1/(1 + (n-1) e^(delta/theta)) <= alpha <= 1/(1 + (n-1) e^(-delta/theta)). Reached by the last item
/// of (M, ..., M, m) and the first of (M, m, ..., m). Proof: all other items are at most e^(delta/theta), at least
/// e^(-delta/theta) times as heavy.
template <Scalar T>
CoefficientBounds<T> lemma_2_1_sharp_bounds(std::uint64_t n, const T& exponent) {
  const T others = count_as<T>(n - 1);
  const T small = exp(-exponent);  // both ends use e^(-delta/theta), which does not overflow
  return {small / (small + others), T(1) / (T(1) + others * small)};
}

/// Two logits and a temperature: besides the length, the bounds depend on nothing else of a row.
struct Spread {
  double largest;
  double smallest;
  double theta = 1;

  /// delta / theta, at the working precision.
  numerics::Enclosure exponent() const { return difference(largest, smallest) / numerics::Enclosure(theta); }
};

/// N(eps) = ceil(1 + e^(delta/theta) (1 - eps)/eps): for every n > N all coefficients are below eps, and N - 1 items of
/// the same spread can still put eps or more on one.
struct DispersionLength {
  std::optional<std::uint64_t> items;  // N, certified, where it is below 2^62
  numerics::Enclosure log_items;       // ln(1 + e^(delta/theta) (1 - eps)/eps), at 113 bits
};

/// eps      in (0, 1)
/// throws   std::invalid_argument when eps is not, theta <= 0 or largest < smallest
DispersionLength dispersion_length(const Spread& spread, double eps);

/// lemma_2_1.lower, .upper, .sharp_lower, .sharp_upper for every coefficient of the row at once; the sides shown are
/// the item nearest to the bound. Every finite row is decided: each gap is a sum of terms of one sign made of exact
/// differences of logits.
///
/// theta    > 0
std::vector<numerics::Certificate> certify_coefficient_bounds(const LevelRow& row, double theta);

/// The sides of the sharp bounds for all coefficients, with their gap, at the working precision.
///
/// theta    > 0
struct SharpSides {
  numerics::Sides lower, upper;
};
SharpSides sharp_sides(const LevelRow& row, double theta);

/// lemma_2_1.attained: the two extremal rows of the same length and spread reach the sharp bounds, exactly.
std::vector<numerics::Certificate> certify_sharp_bounds_attained(const LevelRow& row, double theta);

/// lemma_2_1.dispersion_length for one eps: "beyond N every coefficient is below eps", and not from any smaller N.
std::vector<numerics::Certificate> certify_dispersion_length(const Spread& spread, double eps);

/// An eps in (0, 1) for which N is about the row's own length, if there is one: its sharp upper bound, rounded up.
std::optional<double> own_coefficient_bound(const LevelRow& row, double theta);

/// All of them, the dispersion length for some eps.
///
/// logits   (n) finite or -inf          theta   > 0
std::vector<numerics::Certificate> certify_lemma_2_1(std::span<const double> logits, double theta);

}  // namespace softcheck::theory
