#pragma once

#include <cstdint>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "theory/lemma_2_1.hpp"
#include "theory/level_row.hpp"
#include "theory/scalar.hpp"

namespace softcheck::theory {

/// Entropy of softmax over n logits that take two values, top of them the larger one:
///   H = ln Z - k e^d d / Z, Z = k e^d + n - k, written in e^(-d), which neither overflows nor cancels.
///
/// n        > top >= 1          exponent   d = delta / theta >= 0          returns  nats
template <Scalar T>
T two_level_entropy(std::uint64_t n, std::uint64_t top, const T& exponent) {
  const T large = count_as<T>(top);
  const T ratio = count_as<T>(n - top) * exp(-exponent) / large;
  return log(large) + (log1p(ratio) + exponent * ratio / (T(1) + ratio));
}

/// ln n - min(delta/theta, delta^2/(8 theta^2)) <= H (with Lemma 2.1; a free-energy gap is a variance, Popoviciu).
///
/// n        >= 1          exponent   delta / theta >= 0          returns  nats; a negative value is a trivial bound
template <OrderedScalar T>
T entropy_floor_simple(std::uint64_t n, const T& exponent) {
  const T quadratic = exponent * exponent / T(8);
  return log(count_as<T>(n)) - (exponent < quadratic ? exponent : quadratic);
}

/// The numbers of items at the maximum that can give n items of a given spread their least entropy: one or two
/// neighbouring numbers, three at most.
///
/// Proof that the least entropy is at a row of two values: in one logit e_i, dH/de_i = -p_i (ln p_i + H) changes sign
/// once, from + to - (ln p_i grows with e_i), so over an interval H is least at an end; hence all logits may be moved
/// to m or M, one after the other. With k at M, u = k/n and q = 1 + u (e^d - 1), H = ln n + ln q - u d e^d / q and
/// dH/du = (e^d - 1)/q - d e^d / q^2 changes sign once, from - to +, at q = d / (1 - e^(-d)): H falls and then rises in
/// k, so that the least one is at a neighbour of n u, u = (d - 1 + e^(-d)) e^(-d) / (1 - e^(-d))^2.
struct CountRange {
  std::uint64_t first;
  std::uint64_t last;
};

/// n        >= 2          throws   std::invalid_argument when n < 2
CountRange least_entropy_counts(std::uint64_t n, const Spread& spread);

/// The least entropy that n items of a given spread can have: min over k = 1..n-1 of two_level_entropy, at the working
/// precision; 0 for n = 1.
numerics::Enclosure entropy_floor(std::uint64_t n, const Spread& spread);

/// ln n - H is at most this for n logits of spread delta, any n: q - 1 - ln q with q = delta / (1 - e^-delta). The
/// least entropy is at a row of two values; with the share u of its items at the maximum,
/// q = 1 + u (e^delta - 1), ln n - H = u delta e^delta / q - ln q is largest at that q, for a real u, and there the
/// first term is q - 1.
///
/// spread   >= 0; grows with it
numerics::Enclosure largest_entropy_deficit(const numerics::Enclosure& spread);

/// entropy_bounds.nonnegative  0 <= H            entropy_bounds.ceiling      H <= ln n
/// entropy_bounds.floor        ln n - min(delta/theta, delta^2/(8 theta^2)) <= H
/// Near-equal rows are decided by ln n - H = integral of b Var_b over [0, 1] (see the source).
///
/// theta    > 0
std::vector<numerics::Certificate> certify_entropy_bounds(const LevelRow& row, double theta);

/// entropy_bounds.sharp_floor: entropy_floor(n, spread) <= H.
numerics::Certificate certify_sharp_floor(const LevelRow& row, double theta);

}  // namespace softcheck::theory
