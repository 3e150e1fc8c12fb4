#pragma once

#include <span>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "theory/level_row.hpp"
#include "theory/scalar.hpp"

namespace softcheck::theory {

/// What Proposition 3.2 speaks of, for p_i = e^(beta e_i)/Z, with the largest logit M taken out:
/// ln Z = beta M + log_sum, E[e] = M - mean, Var(e) = variance, H = log_sum + beta mean.
template <Scalar T>
struct PartitionMoments {
  T log_sum;   // ln sum e^(-beta (M - e_i))
  T mean;      // E[M - e]
  T variance;  // Var(e)
};

/// dH/dbeta = -beta Var(e) (Proposition 3.2).
template <Scalar T>
T entropy_derivative(const T& beta, const PartitionMoments<T>& moments) {
  return -(beta * moments.variance);
}

template <Scalar T>
T entropy(const T& beta, const PartitionMoments<T>& moments) {
  return moments.log_sum + beta * moments.mean;
}

/// beta     an enclosure of a number >= 0
PartitionMoments<numerics::Enclosure> partition_moments(const LevelRow& row, const numerics::Enclosure& beta);

/// The derivative identities between beta and beta + h, as inequalities of first and second differences:
///   proposition_3_2.log_partition_derivative   d ln Z/d beta = E[e]:  h E_1[e] <= ln Z_2 - ln Z_1 <= h E_2[e]
///   proposition_3_2.log_partition_curvature    d^2 ln Z/d beta^2 = Var(e):
///                                              h Var_1 e^(-delta h) <= E_2[e] - E_1[e] <= h Var_1 e^(delta h)
///   proposition_3_2.entropy_derivative         dH/d beta = -beta Var(e):
///                            the same factors around (beta_2^2 - beta_1^2)/2 Var_1 for H_1 - H_2
/// as d Var/d beta is the third central moment, at most delta Var in size. Both sides close up as h -> 0.
///
/// beta     in units of 1/delta (rounded to a power of two), any sign, |beta| <= 64; so is h = 2^-6, away from 0
std::vector<numerics::Certificate> certify_derivatives(const LevelRow& row, double beta);

/// proposition_3_2.monotone    H(beta_2) <= H(beta_1) where |beta_1| <= |beta_2| and both have one sign
/// proposition_3_2.strict      H(beta_2) <  H(beta_1) where also beta_1 != beta_2 and the logits are not all equal;
///                             H(beta_2) = H(beta_1) where they are
/// Across signs it is false: [0, 0, 1], beta = 10 against -11.
///
/// throws   std::invalid_argument when the betas have opposite signs or are not finite
std::vector<numerics::Certificate> certify_monotone_entropy(const LevelRow& row, double beta_1, double beta_2);

}  // namespace softcheck::theory
