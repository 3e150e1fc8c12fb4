#pragma once

#include <array>

#include "proptests/tests/numerics/stated_entropy.hpp"

namespace softcheck::numerics::stated {

/// B10: tau, the mean at the computed beta, the row there, and A + 1 as B10 counts it.
struct Temperature {
  Real tau, mean;
  RowStatistics<Real> moved;
  Contract contract;

  Temperature(const Contract& given, const RowStatistics<Real>& plain, const RowStatistics<Real>& scaled,
              const Real& entropy_before, Grants grants)
      : contract(given) {
    const Softmax s(given, plain, grants);
    Contract inner = given;
    inner.output = given.accumulator;
    const Real centred = entropy(inner, plain, grants).total();
    const Real direct = entropy_of_coefficients(inner, plain, grants).total();
    Real off = promises(centred) && promises(direct) ? maximum(centred, direct) : none();
    if (given.entropy == EntropyForm::any) off = off + epsilon_gap(plain.visible);
    off = off + entropy_before;
    // Fig. 4: -0.037 H^4 + 0.481 H^3 - 2.3 H^2 + 4.917 H - 1.791.
    const Real h = plain.log_sum + plain.mean_deviation + off;
    Real size, powers;
    for (const char* a : {"0.037", "0.481", "2.3", "4.917", "1.791"}) {
      size = size * h + Real::decimal(a);
      powers = powers * h + 1;
    }
    tau = Real(2.526) * off + grown(9 * s.lambda) * size + exp(9 * s.lambda) * 2 * (s.omega_a + s.omega_m) * powers;
    const Real width = log(s.n + exp(Real(1)));
    mean = scaled.mean_deviation + tau * square(width * over_rest(tau));
    moved = scaled;
    moved.theta = 0.25;  // 1 / beta > 1/4: an upper bound of what is divided by it
    moved.log_sum = scaled.log_sum + tau * mean;
    moved.mean_deviation = (1 + tau) * mean;
    moved.mean_square_deviation = square(width);
    moved.maximum_magnitude = scaled.maximum_magnitude + tau * plain.maximum_magnitude;
    moved.largest_magnitude = 4 * plain.largest_magnitude;
    moved.logsumexp_magnitude = scaled.logsumexp_magnitude + tau * (plain.maximum_magnitude + mean);
    contract.exp_argument_error += 1;  // A + 3, of which a temperature of 1/4 has two
  }
};

inline ElementThreshold<Real> adaptive(const Contract& contract, const RowStatistics<Real>& plain,
                                       const RowStatistics<Real>& scaled, Grants grants) {
  const Temperature beta(contract, plain, scaled, Real(0), grants);
  const Softmax s(beta.contract, beta.moved, grants);
  const Real C = s.element_log() + beta.tau * beta.mean;
  return s.chord(C, s.t * (1 + beta.tau) + beta.tau, s.element_lost());
}

/// B8.
inline ElementThreshold<Real> merge_by_lse(const Contract& given, std::uint64_t parts, const Real& part_error,
                                           const Real& largest) {
  Contract contract = given;
  contract.input = contract.output = given.accumulator;
  const Real count = Real::integer(parts), size = largest + part_error;
  const RowStatistics<Real> row{parts, parts, 0,   1, log(count), log(count), square(log(count + exp(Real(1)))),
                                size,  size,  size};
  const Softmax s(contract, row, Grants::none);
  const Real both = 2 * part_error + logsumexp(contract, row, Grants::none).total();
  const Real C = both + s.u * both + s.omega_a + s.lambda_e + s.lambda;
  return s.chord(C, s.t, (s.omega_x + s.omega_m) * exp(C));
}

}  // namespace softcheck::numerics::stated
