#pragma once

#include "proptests/tests/numerics/stated_arithmetic.hpp"

namespace softcheck::numerics::stated {

/// "The argument", "The tilted row" and B1 of one contract and one row, in the document's letters.
struct Softmax : Arithmetic {
  RowStatistics<Real> row;
  bool online, reciprocal;
  Real n, R, h;
  Real steps;                        // A' lambda
  Real t, g, c;                      // the argument: t D + c; the scaled maximum: g |m| / theta
  Real conversion, step;             // kappa; what one difference loses
  Real lambda_w, lambda_s;           // weights=, total=
  Real lost_item;                    // omega_x, and what weights= adds
  Real v, l, mu, excess;             // (2) to (4)
  Real a, sigma_0, sigma, lambda_r;  // B1, B6's reciprocal
  Real rescaling;                    // R (lambda_E + lambda)
  Real late;                         // lambda_E + lambda where a numerator is rescaled late

  Softmax(const Contract& contract, const RowStatistics<Real>& statistics, Grants grants = Grants::all)
      : Arithmetic(contract), row(statistics), reciprocal(grants == Grants::all) {
    online = reciprocal && row.rescalings > 0;
    n = Real::integer(row.visible);
    R = online ? Real::integer(row.rescalings) : Real(0);
    h = sums_height(contract, row.size, row.visible);
    const Storage weights = Storage::of_weights(contract), total(contract, contract.total);
    lambda_w = weights.lambda;
    lost_item = omega_x + weights.lost;
    lambda_s = total.lambda;
    rescaling = R * (lambda_e + lambda);
    late = online ? lambda_e + lambda : Real(0);
    argument(contract);
    sum();
  }

  /// Of one numerator and its division, D apart: "C" of B2 without sigma.
  Real numerator() const { return lambda_e + lambda_w + c + late; }
  Real division() const { return (reciprocal ? 2 : 1) * lambda + lambda_out; }
  Real element_log() const { return numerator() + sigma + division(); }
  /// What underflow takes of a numerator and its division, before the roundings behind it.
  Real lost_coefficient() const {
    return lost_item + omega_m + (online ? omega_x + omega_m : Real(0)) + (reciprocal ? omega_m : Real(0));
  }
  Real element_lost() const { return lost_coefficient() * exp(element_log()) + lost_out; }
  /// The chord of e^(C + rate D) - 1.
  ElementThreshold<Real> chord(const Real& C, const Real& rate, const Real& lost) const {
    const Real last = (C + log(2048 / quantum)) * over_rest(rate);
    const Real y = rate * last;
    return {grown(C), rate * exp(C + y / 2 + square(y) / 24), lost + quantum / 2048};
  }
  Real of_logarithm() const { return sigma + log_error * (row.log_sum + sigma); }

 private:
  void argument(const Contract& contract) {
    const FormatProperties& p = properties(format);
    const Real theta(row.theta);
    const bool scaled = row.theta != 1, read_exactly = holds(format, contract.input);
    const bool held = round_to(format, row.theta) == row.theta;
    const bool before = scaled && contract.theta == ThetaUse::before;
    const int more = !scaled ? 0 : 2 + (held ? 0 : 1) + (before && !read_exactly ? 1 : 0);
    Real in_double = scaled && format != Format::f64 ? lambda_of(Real::power_of_two(-53)) : Real(0);
    if (scaled && !(1 / row.theta > 2 * p.smallest_normal && 1 / row.theta < p.largest / 2)) in_double = none();
    if (scaled && !before) {
      const double spread = (row.maximum_magnitude + row.largest_magnitude).upper_double() * row.theta;
      if (spread >= p.largest / 2 && p.largest / row.theta <= 2 * cutoff.upper_double()) in_double = none();
    }
    steps = (Real(contract.exp_argument_error) + more) * lambda + in_double;
    t = grown(steps);
    if (before) {
      g = grown(more * lambda + in_double);
      Real moved = g * row.maximum_magnitude;
      if (!((row.maximum_magnitude + moved).upper_double() < p.largest)) moved = none();
      Real lost = omega_m;
      if (!read_exactly) lost = lost + omega_m / theta;
      if (read_exactly && flushed) lost = lost + smallest_normal / theta;
      conversion = 2 * (moved + lost);
      step = omega_a;
      c = (1 + t) * conversion + (R + 1) * step;
      if (t.upper_double() > 0.25) t = g = c = none();
      return;
    }
    g = grown(Real(std::max(contract.exp_argument_error + more - 1, 0.0)) * lambda + in_double);
    conversion = flushed ? 2 * smallest_normal / theta : Real(0);
    if (!read_exactly) {
      conversion = 2 * omega_m / theta + 2 * u * row.largest_magnitude;
      if (!(row.largest_magnitude.upper_double() * row.theta < p.largest / 2)) conversion = none();
    }
    step = scaled ? (1 + t) * omega_a / theta + omega_m : omega_a;
    c = (1 + t) * conversion + (R + 1) * step;
    // The theorems' premises.
    if (t.upper_double() > 0.25 || step.upper_double() > 0.5) t = g = c = none();
  }

  void sum() {
    v = square(log(n + exp(Real(1))) * over_rest(t));
    l = pow(log(n + exp(Real(2))) * over_rest(t), 3);
    mu = t * row.mean_deviation + square(t) * v / 2;
    excess = t * row.mean_square_deviation + square(t) / 2 * exp(mu) * l;
    sigma_0 = h * lambda + lambda_e + lambda_w + rescaling + c + mu;
    a = n * (lost_item + omega_a + (online ? 2 * omega_x + 2 * omega_m : Real(0)));
    sigma = sigma_0 + lambda_of(a * exp(2 * sigma_0)) + lambda_s;
    lambda_r = lambda;
    if (reciprocal) {
      const Real largest = exp(row.log_sum + sigma);
      const bool normal = promises(largest) && largest.upper_double() <= 1 / properties(format).smallest_normal;
      lambda_r = 2 * lambda;
      if (!normal) lambda_r = lambda + lambda_of(u + omega_m * largest);
    }
  }
};

/// B5: the log-sum-exp before the output, and what underflows in it.
inline ScalarThreshold<Real> logsumexp_in_accumulator(const Softmax& s) {
  const Real parts = s.of_logarithm() + s.g * s.row.maximum_magnitude + s.c;
  // The scaled maximum and the logarithm, which the addition rounds, and the addition.
  return {parts + s.u * (s.row.logsumexp_magnitude + parts), 2 * s.omega_m * (1 + s.u) + s.omega_a};
}

inline ScalarThreshold<Real> logsumexp(const Contract& contract, const RowStatistics<Real>& row, Grants grants) {
  const Softmax s(contract, row, grants);
  const ScalarThreshold<Real> inner = logsumexp_in_accumulator(s);
  return s.then_output(inner.rounding, row.logsumexp_magnitude, inner.floor);
}

/// B5: log-softmax in the form that lse= names.
inline LinearThreshold<Real> log_softmax(const Contract& contract, const RowStatistics<Real>& row, Grants grants) {
  const Softmax s(contract, row, grants);
  Real constant = s.of_logarithm() + s.c, slope = s.t, lost = s.omega_m;  // of the logarithm
  if (contract.lse == LseForm::uncentred) {
    const ScalarThreshold<Real> inner = logsumexp_in_accumulator(s);
    Real of_l = inner.rounding;
    if (!((row.maximum_magnitude + of_l).upper_double() < properties(s.format).largest)) of_l = none();
    constant = of_l + s.g * row.maximum_magnitude + s.c;
    slope = s.g;
    lost = lost + inner.floor;  // here of the scaled logit
  }
  lost = lost * (1 + s.u) + s.omega_a;
  // The subtraction, then the output: each its unit times D + ln S + what has been lost.
  constant = constant + s.u * (row.log_sum + constant);
  slope = slope + s.u * (1 + slope);
  constant = constant + s.u_out * (row.log_sum + constant);
  slope = slope + s.u_out * (1 + slope);
  return {constant, slope, lost * (1 + s.u_out) + s.lost_out};
}

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
