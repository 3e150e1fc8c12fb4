#pragma once

#include "proptests/tests/numerics/stated_softmax.hpp"

namespace softcheck::numerics::stated {

/// B6's a_T.
inline Real lost_moment(const Softmax& s) {
  Real one = s.lost_item * s.cutoff + s.omega_m + s.omega_a;
  if (s.online) one = one + 4 * s.omega_x * s.cutoff + 3 * s.omega_m + s.omega_a;
  return s.n * one;
}

/// B7's: F is the size of a logit whose exponential may still be one.
inline Real lost_logits(const Softmax& s) {
  const Real F = s.row.maximum_magnitude + s.conversion + (1 + s.t) * (s.cutoff + s.step) + 1;
  Real one = s.lost_item * F + s.omega_m + s.omega_a;
  if (s.online) one = one + 2 * s.omega_x * F + 2 * s.omega_m;
  return s.n * one;
}

/// B6.
inline ScalarThreshold<Real> entropy(const Contract& contract, const RowStatistics<Real>& row, Grants grants) {
  const Softmax s(contract, row, grants);
  const Real c_t = s.h * s.lambda + s.lambda_e + s.lambda_w + s.R * (s.lambda_e + 2 * s.lambda) + s.lambda + s.c;
  const Real c_q = c_t + s.steps + s.sigma + s.lambda_r;
  const Real mean = grown(c_q) * row.mean_deviation + exp(c_q) * (s.excess + s.c * (exp(s.mu) + s.a) + lost_moment(s));
  const Real parts = s.of_logarithm() + mean, h = row.log_sum + row.mean_deviation;
  // The logarithm and the quotient, which the addition rounds, and the addition.
  return s.then_output(parts + s.u * (h + parts), h, 2 * s.omega_m * (1 + s.u) + s.omega_a);
}

/// B7.
inline ScalarThreshold<Real> entropy_uncentred(const Contract& contract, const RowStatistics<Real>& row,
                                               Grants grants) {
  const Softmax s(contract, row, grants);
  const Real& m = row.maximum_magnitude;
  const Real c_x = s.h * s.lambda + s.lambda_e + s.lambda_w + s.rescaling + s.lambda + s.c + lambda_of(s.g);
  const Real c_q = c_x + s.sigma + s.lambda_r;
  const Real of_x = m + row.mean_deviation;
  const Real excess =
      s.t * (m * row.mean_deviation + row.mean_square_deviation) + square(s.t) / 2 * exp(s.mu) * (m * s.v + s.l);
  const Real mean = grown(c_q) * of_x + exp(c_q) * (excess + s.c * (exp(s.mu) + s.a) + lost_logits(s));
  const Real parts = s.of_logarithm() + s.g * m + s.c + mean;
  Real first = parts + s.u * (m + row.log_sum + of_x + parts);
  if (!((m + first).upper_double() < properties(s.format).largest)) first = none();
  const Real h = row.log_sum + row.mean_deviation;
  // The quotient, the logarithm and the maximum, which both additions round, and the additions.
  const Real lost = (3 * s.omega_m * (1 + s.u) + s.omega_a) * (1 + s.u) + s.omega_a;
  return s.then_output(first + s.u * (h + first), h, lost);
}

/// B11.
inline Real epsilon_gap(std::uint64_t visible) { return log(1 + Real::decimal("1e-9") * Real::integer(visible)); }

/// B6d with the paper's 1e-9.
inline ScalarThreshold<Real> entropy_of_coefficients(const Contract& contract, const RowStatistics<Real>& row,
                                                     Grants grants) {
  const Softmax s(contract, row, grants);
  const Real epsilon = Real::decimal("1e-9"), h = row.log_sum + row.mean_deviation;
  const Real C = s.numerator() + s.sigma + (s.reciprocal ? 2 : 1) * s.lambda;
  const Real a = C + (s.h + 1) * s.lambda, b = C + 2 * s.lambda;
  const Real tilted = s.excess + row.log_sum * grown(s.mu);  // sum p e^(tD) l - H
  const Real of_log = (b * exp(s.mu) + s.t * (row.mean_deviation + s.excess)) * (1 + s.log_error) +
                      s.log_error * (h + tilted + epsilon * exp(s.mu));
  Real parts = grown(a) * (h + epsilon) + exp(a) * (tilted + epsilon * grown(s.mu) + of_log);
  if ((s.smallest_normal - epsilon).certainly_positive()) parts = parts + epsilon_gap(row.visible);
  // f of a coefficient moves p ln p by f (R + 1); the logarithm and the product lose something of their own.
  const Real f = s.lost_coefficient() * exp(C);
  const Real of_f = f * (s.cutoff / 2 + C + 2 * s.lambda + epsilon + 1) * (1 + s.log_error);
  const Real lost = (of_f + (exp(C) + f) * s.omega_m) * exp(s.lambda) + s.omega_m + s.omega_a;
  return s.then_output(parts, h, s.n * lost * exp(s.h * s.lambda));
}

/// B6d with ln p from a log-softmax.
inline ScalarThreshold<Real> entropy_of_logarithms(const Contract& contract, const RowStatistics<Real>& row,
                                                   Grants grants) {
  Contract inner = contract;
  inner.output = contract.accumulator;
  const LinearThreshold<Real> logarithm = log_softmax(inner, row, grants);
  const Real b = logarithm.constant + logarithm.floor;
  // 2 A' + 1 roundings and more, A' <= A + 4, of which a temperature's own are granted by the contract anyway.
  inner.exp_argument_error = 2 * contract.exp_argument_error + 7;
  const Softmax s(inner, row, grants);
  // b' of the numerator and of the sum, which loses no more of what is left.
  const Real of_b = b * (1 + 2 * s.t), sum = s.sigma_0 + of_b;
  const Real sigma = sum + lambda_of(s.a * exp(2 * sum)) + s.lambda_s;
  const Real C = s.numerator() + of_b + sigma + (s.reciprocal ? 2 : 1) * s.lambda;
  const Real a = C + (s.h + 1) * s.lambda, h = row.log_sum + row.mean_deviation;
  const Real tilted =
      s.excess + row.log_sum * grown(s.mu) + b * exp(s.mu) + logarithm.slope * (row.mean_deviation + s.excess);
  // f times the largest logarithm that counts: of an item K below the maximum.
  const Real f = s.lost_coefficient() * exp(C), K = (1 + s.t) * (s.cutoff + s.step + 2 * b) + s.conversion;
  const Real lost = f * (K * (1 + logarithm.slope) + row.log_sum + b) * exp(s.lambda) + s.omega_m + s.omega_a;
  return Arithmetic(contract).then_output(grown(a) * h + exp(a) * tilted, h, s.n * lost * exp(s.h * s.lambda));
}

inline ScalarThreshold<Real> wider(const ScalarThreshold<Real>& a, const ScalarThreshold<Real>& b) {
  const auto of = [](const Real& x, const Real& y) { return promises(x) && promises(y) ? maximum(x, y) : none(); };
  return {of(a.rounding, b.rounding), of(a.floor, b.floor)};
}

inline ScalarThreshold<Real> contracted_entropy(const Contract& contract, const RowStatistics<Real>& row,
                                                Grants grants) {
  if (contract.entropy_from == EntropyFrom::deviations) return entropy(contract, row, grants);
  if (contract.entropy_from == EntropyFrom::logits) return entropy_uncentred(contract, row, grants);
  return wider(entropy_of_coefficients(contract, row, grants), entropy_of_logarithms(contract, row, grants));
}

/// B6, "Below 0".
inline Real undershoot(const Contract& contract, const RowStatistics<Real>& row) {
  const Softmax s(contract, row);
  return (s.lambda_e + s.lambda_w + s.rescaling + s.lambda_s + 2 * s.lambda) * (1 + s.log_error) * (1 + s.u) *
         (1 + s.u_out);
}

}  // namespace softcheck::numerics::stated
