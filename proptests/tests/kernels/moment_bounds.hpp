#pragma once

#include <algorithm>
#include <bit>
#include <cmath>

#include "numerics/formats/format.hpp"
#include "numerics/rounding/contract.hpp"

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

/// Rescalings on an item's way: blocks:K has its blocks' maxima before it adds, and its merges alone rescale; of the
/// other trees every addition may.
inline double rescalings_of(const numerics::Contract& contract, std::size_t items) {
  if (contract.summation.kind == numerics::Summation::Kind::blocks && items > 0) {
    return static_cast<double>(std::bit_width((items - 1) / contract.summation.width));
  }
  return static_cast<double>(numerics::summation_height(contract, items));
}

/// Of sum w D^k, on the logarithmic scale of docs/tolerances.md, where nothing of higher order is left out. A piece of
/// it is a product of 1 + R exponentials and meets N = h + R (2 + k) + k (A + 1) + 1 other roundings: additions, each
/// rescaling's product, added 1 and added pieces of the k lower moments, k powers of D and their products, the result.
/// (B6 derives k = 1.) So it is off by at most the factor e^C, C = N lambda + (1 + R) lambda_E, and by e^(t D), t =
/// e^(A lambda) - 1, for the arguments, which telescope; e^(t D) - 1 <= t D e^(t D_largest). What is lost below the
/// smallest number is beside it. moment: sum w D^k, or S - 1 for k = 0.
inline double moment_error(const numerics::Contract& contract, const Moments& about, int k, double moment) {
  const numerics::FormatProperties& format = numerics::properties(contract.accumulator);
  const double lambda = -std::log1p(-format.unit_roundoff);
  const double lambda_e = -std::log1p(-contract.exp_error * format.unit_roundoff);
  const double a = contract.exp_argument_error, r = rescalings_of(contract, about.items);
  const double height = static_cast<double>(numerics::summation_height(contract, about.items));
  const double c = (height + r * (2 + k) + k * (a + 1) + 1) * lambda + (1 + r) * lambda_e;
  const double t = std::expm1(a * lambda);
  const double lost = static_cast<double>(about.items + 1) * std::pow(1 + about.largest_deviation, k);
  const double widened = std::exp(c + t * about.largest_deviation);
  return std::expm1(c) * moment + widened * (t * about.of[k + 1] + lost * format.smallest_subnormal);
}

/// Of sum w D^k where every score may be off by e: D by 2 e, w by the factor exp(2 e), and of the weights one is 1 in
/// any case.
inline double moved_by_scores(const Moments& about, int k, double e) {
  const double stretch = std::exp(2 * e), d = 2 * e;
  const double grown[] = {0, d * about.of[0], 2 * d * about.of[1] + d * d * about.of[0]};
  return (stretch - 1) * about.of[k] + stretch * grown[k];
}

}  // namespace softcheck::kernel_tests
