#pragma once

#include <algorithm>
#include <cmath>

#include "numerics/contract.hpp"
#include "numerics/format.hpp"

// How far a row's sums of w D^k, D = m - x, w = exp(-D), may be from exact under a contract.
namespace softcheck::kernel_tests {

/// sum w D^k for k = 0 to 3, n items the largest of which is deviation below m.
struct Moments {
  double of[4] = {};
  double largest_deviation = 0;
  std::size_t items = 0;

  void add(double d) {
    double term = std::exp(-d);
    for (double& moment : of) {
      moment += term;
      term *= d;
    }
    largest_deviation = std::max(largest_deviation, d);
    ++items;
  }
  double sum() const { return of[0]; }
};

/// Of sum w D^k, to first order, doubled: relative u (h + E + R (E + 2 + k) + k (A + 1) + 1) (B6 in docs/tolerances.md
/// derives k = 1; a merge of U rounds once more than one of T; the last 1 is the result's), A u sum w D^(k + 1) for the
/// argument, and what is lost below the smallest number. R, of rescalings: the height. moment: sum w D^k, or S - 1 for
/// k = 0.
inline double moment_error(const numerics::Contract& contract, const Moments& about, int k, double moment) {
  const numerics::FormatProperties& format = numerics::properties(contract.accumulator);
  const double height = static_cast<double>(numerics::summation_height(contract, about.items));
  const double e = contract.exp_error, a = contract.exp_argument_error;
  const double roundings = height + e + height * (e + 2 + k) + k * (a + 1) + 1;
  const double lost = static_cast<double>(about.items + 1) * std::pow(1 + about.largest_deviation, k);
  return 2 * (format.unit_roundoff * (roundings * moment + a * about.of[k + 1]) + lost * format.smallest_subnormal);
}

/// Of sum w D^k where every score may be off by e: D by 2 e, w by the factor exp(2 e), and of the weights one is 1 in
/// any case.
inline double moved_by_scores(const Moments& about, int k, double e) {
  const double stretch = std::exp(2 * e), d = 2 * e;
  const double grown[] = {0, d * about.of[0], 2 * d * about.of[1] + d * d * about.of[0]};
  return (stretch - 1) * about.of[k] + stretch * grown[k];
}

}  // namespace softcheck::kernel_tests
