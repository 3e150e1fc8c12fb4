#pragma once

namespace softcheck::kernels {

/// beta of Fig. 4 (eqs. 15-18) and its slope in the entropy.
struct AdaptiveBeta {
  double value;
  double slope;  // 0 where value is held at 1
};

/// max(P(H), 1) above 0.5 nats, from the exact entropy (without the paper's 1e-9).
constexpr AdaptiveBeta adaptive_beta_and_slope(double entropy) {
  if (!(entropy > 0.5)) {
    return {1, 0};
  }
  const double polynomial = (((-0.037 * entropy + 0.481) * entropy - 2.3) * entropy + 4.917) * entropy - 1.791;
  if (!(polynomial > 1)) {
    return {1, 0};
  }
  return {polynomial, ((4 * -0.037 * entropy + 3 * 0.481) * entropy - 2 * 2.3) * entropy + 4.917};
}

constexpr double adaptive_beta(double entropy) { return adaptive_beta_and_slope(entropy).value; }

}  // namespace softcheck::kernels
