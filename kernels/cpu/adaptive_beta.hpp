#pragma once

namespace softcheck::kernels {

/// beta of Fig. 4 (eqs. 15-18): max(P(H), 1) above 0.5 nats, from the exact entropy (without the paper's 1e-9).
constexpr double adaptive_beta(double entropy) {
  if (!(entropy > 0.5)) {
    return 1;
  }
  const double polynomial = (((-0.037 * entropy + 0.481) * entropy - 2.3) * entropy + 4.917) * entropy - 1.791;
  return polynomial > 1 ? polynomial : 1;
}

}  // namespace softcheck::kernels
