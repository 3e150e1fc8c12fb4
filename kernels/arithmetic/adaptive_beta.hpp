#pragma once

namespace softcheck::kernels::arithmetic {

/// The polynomial of Fig. 4 (eqs. 15-18), coefficient of H^i.
struct AdaptivePolynomial {
  static constexpr double a0 = -1.791, a1 = 4.917, a2 = -2.3, a3 = 0.481, a4 = -0.037;
  static constexpr double least_entropy = 0.5;  // nats; where it is not exceeded, beta is 1
};

/// beta and its slope in the entropy.
struct AdaptiveBeta {
  double value;
  double slope;  // 0 if value is clamped to 1
};

/// max(P(H), 1) above 0.5 nats, from the exact entropy (without the paper's 1e-9).
constexpr AdaptiveBeta adaptive_beta_and_slope(double entropy) {
  using P = AdaptivePolynomial;
  if (!(entropy > P::least_entropy)) {
    return {1, 0};
  }
  const double polynomial = (((P::a4 * entropy + P::a3) * entropy + P::a2) * entropy + P::a1) * entropy + P::a0;
  if (!(polynomial > 1)) {
    return {1, 0};
  }
  return {polynomial, ((4 * P::a4 * entropy + 3 * P::a3) * entropy + 2 * P::a2) * entropy + P::a1};
}

constexpr double adaptive_beta(double entropy) { return adaptive_beta_and_slope(entropy).value; }

}  // namespace softcheck::kernels::arithmetic
