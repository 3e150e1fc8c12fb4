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
    const Storage weights(contract, contract.weights), total(contract, contract.total);
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

}  // namespace softcheck::numerics::stated
