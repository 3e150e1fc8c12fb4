#pragma once

#include <vector>

#include "numerics/rounding/rounding_attention.hpp"
#include "numerics/rounding/rounding_cross_entropy.hpp"
#include "proptests/tests/numerics/stated_softmax.hpp"

namespace softcheck::numerics::stated {

/// B9, "Scores": e_j.
inline Real score(const Contract& contract, const AttentionArithmetic& arithmetic, const Real& dot) {
  const Arithmetic a(contract);
  const Real scale(std::fabs(arithmetic.scale)), d = Real::integer(arithmetic.dimension);
  Real log_error = (d + 2 + (holds(a.format, contract.input) ? 0 : 2)) * a.lambda;
  if (contract.scale == ScaleUse::whole) {
    const Real first = a.omega_m * Real(arithmetic.factor_sum) + maximum(scale, Real(1)) * d * (a.omega_m + a.omega_a);
    return scale * grown(log_error) * dot + exp(log_error) * first + a.omega_m;
  }
  log_error = log_error + 2 * a.lambda + 2 * lambda_of(Real::power_of_two(-53));
  Real factor = a.omega_m;
  if (contract.scale == ScaleUse::stored) {
    const Storage stored(contract, contract.input);
    log_error = log_error + 2 * stored.lambda;
    factor = factor + stored.lost;
  }
  const Real met = factor * (sqrt(scale) * Real(arithmetic.factor_sum) + d * factor);
  return scale * grown(log_error) * dot + exp(log_error) * (met + d * (a.omega_m + a.omega_a));
}

/// B9, "scores=".
inline Real stored_score(const Contract& contract, const Real& error, const Real& size) {
  const Storage stored(contract, contract.scores);
  return error + grown(stored.lambda) * (size + error) + stored.lost;
}

/// "Softmax of perturbed scores": every x moves by at most e.
inline RowStatistics<Real> moved_by(const RowStatistics<Real>& row, const Real& e) {
  RowStatistics<Real> moved = row;
  const Real two = 2 * e;  // of a D
  moved.theta = 1;
  moved.log_sum = row.log_sum + two;
  moved.mean_deviation = exp(two) * (row.mean_deviation + two);
  moved.mean_square_deviation = exp(two) * (row.mean_square_deviation + 2 * two * row.mean_deviation + two * two);
  moved.maximum_magnitude = row.maximum_magnitude + e;
  moved.largest_magnitude = row.largest_magnitude + e;
  moved.logsumexp_magnitude = row.logsumexp_magnitude + e;
  return moved;
}

/// B9 of one query.
struct Attention {
  Contract contract;
  RowStatistics<Real> row;
  std::vector<Real> p, D, e;  // e: beta e_j
  Real largest, mean, tilt;   // e_max, ebar, tau
  Real k, of_logsumexp, of_entropy;

  Attention(const Contract& given, const ScoreRow<Real>& scores, std::span<const Real> errors, const Real& beta)
      : contract(given) {
    contract.input = given.accumulator;
    contract.weights.reset();
    Real with_deviation;
    for (std::size_t j = 0; j < errors.size(); ++j) {
      p.push_back(scores.coefficients[j]);
      D.push_back(scores.deviations[j]);
      e.push_back(beta * errors[j]);
      if (p[j].upper_double() == 0) continue;
      largest = maximum(largest, e[j]);
      mean = mean + p[j] * e[j];
      with_deviation = with_deviation + p[j] * e[j] * D[j];
    }
    row = moved_by(scores.statistics, largest);
    k = of_logsumexp = mean * exp(largest);
    of_entropy = exp(2 * largest) * (with_deviation + mean * (2 * largest + row.mean_deviation));
  }

  /// "Adaptive attention".
  void sharpen(const Attention& plain, Grants grants) {
    const Temperature beta(plain.contract, plain.row, row, plain.of_entropy, grants);
    contract = beta.contract;
    row = beta.moved;
    tilt = beta.tau;
    k = k + tilt * beta.mean;
    of_logsumexp = of_logsumexp + tilt * (plain.row.maximum_magnitude + beta.mean);
    of_entropy = of_entropy + tilt * row.mean_square_deviation;
  }

  ScalarThreshold<Real> column(const Contract& given, const AttentionArithmetic& arithmetic,
                               const std::vector<Real>& values, const Real& output, Grants grants) const {
    const Softmax s(contract, row, grants);
    const FormatProperties& narrow = properties(arithmetic.coefficients);
    const Real height = Real::integer(arithmetic.value_sum_height), rate = s.t * (1 + tilt) + tilt;
    Real term = s.lambda_e + s.rescaling + s.c + 2 * rate * largest + (height + 1) * s.lambda + s.lambda_r;
    if (narrow.precision < properties(s.format).precision) term = term + lambda_of(Real(narrow.unit_roundoff));
    if (!holds(s.format, given.input)) term = term + s.lambda;
    const Storage sums(given, given.values);
    term = term + (height + s.R + 3) * sums.lambda;
    // A value that the accumulator cannot hold loses something, too.
    const Real read = holds(s.format, given.input) ? Real(0) : s.omega_m * exp(sums.lambda),
               lost_stored = sums.lost + read;
    // What a coefficient loses: its exponential, its storage, its quotient, two factors of rescaling.
    Real lost = s.omega_x + Real(narrow.smallest_subnormal) * Real::power_of_two(-given.weights_power) + s.omega_m;
    if (s.flushed && narrow.storage_bits > 8) lost = lost + Real(narrow.smallest_normal);
    if (s.online) lost = lost + 2 * s.omega_x;
    const ElementThreshold<Real> chord = s.chord(term + largest, rate, Real(0));
    const Real grown_most = exp(term + largest), lost_each = lost * grown_most + chord.floor;
    const Real lost_product = s.omega_m + s.omega_a + (s.online ? 2 * s.omega_m : Real(0)) + (4 + s.R) * lost_stored;
    Real terms, underflow;
    for (std::size_t j = 0; j < values.size(); ++j) {
      underflow = underflow + values[j] * lost_each + lost_product * grown_most;
      if (p[j].upper_double() == 0) continue;
      terms = terms + values[j] * p[j] * (grown(term + e[j]) + chord.slope * D[j]);
    }
    const Real common = s.sigma + k;
    return s.then_output(grown(common) * output + exp(common) * terms, output,
                         exp(common) * underflow + s.omega_m * exp(sums.lambda) + lost_stored);
  }
};

/// "Softcap": the log error of a capped logit, e of the largest, and the row behind it.
struct Capped : Arithmetic {
  Real log_error, e;
  RowStatistics<Real> row;
  Contract inner;
  Capped(const Contract& contract, const CrossEntropyOptions& options, const RowStatistics<Real>& given)
      : Arithmetic(contract), row(given), inner(contract) {
    inner.output = contract.accumulator;
    if (options.softcap == 0) return;
    inner.input = contract.accumulator;
    const bool held = round_to(format, options.softcap) == options.softcap;
    log_error = lambda_of(Real(options.tanh_error) * u) + (held ? 3 : 4) * lambda + read;
    e = grown(log_error) * given.largest_magnitude +
        exp(log_error) * (omega_r + 3 * omega_m) * (1 + Real(options.softcap));
    row = moved_by(given, e);
    row.theta = given.theta;
  }
};

/// "Sums of terms that err": e^a (X + d) - X.
inline Real perturbed(const Real& a, const Real& size, const Real& off) { return exp(a) * (size + off) - size; }

/// B14.
inline ScalarThreshold<Real> loss(const Contract& contract, const CrossEntropyOptions& options,
                                  const CrossEntropyRow<Real>& row, Grants grants) {
  const Capped c(contract, options, row.statistics);
  const LinearThreshold<Real> logarithm = log_softmax(c.inner, c.row, grants);
  const ScalarThreshold<Real> lse = logsumexp(c.inner, c.row, grants);
  const Real size = c.row.log_sum + row.target_deviation;
  const Real e_n = logarithm.constant + logarithm.slope * (row.target_deviation + 2 * c.e) + 2 * c.e;
  const bool smoothed = options.label_smoothing > 0, squared = options.z_loss > 0;
  if (!smoothed && !squared && !row.weighted) return c.then_output(e_n, row.loss_magnitude, logarithm.floor);

  const Real s(options.label_smoothing), target = (1 - s) * row.target_weight, &w = row.mean_weight;
  const Real e_l = lse.rounding + c.e, &l = c.row.logsumexp_magnitude;
  Real magnitude = target * size, error = target * e_n, lost = target * logarithm.floor;
  if (smoothed) {
    const Real h = Real::integer(summation_height(contract, row.statistics.size)) * c.lambda;
    const Real weighing = row.weighted ? 2 * c.lambda : Real(0);
    const Real mean = row.mean_deviation + c.row.log_sum * w;
    const Real of_each =
        (logarithm.constant + 2 * c.e + 2 * logarithm.slope * c.e) * w + logarithm.slope * row.mean_deviation;
    const Real of_logarithms = perturbed(h + weighing, mean, of_each);
    const Real of_logits = perturbed(h + weighing + 2 * c.lambda + c.read, row.mean_magnitude, c.e * w) +
                           perturbed(row.weighted ? h + weighing : Real(0), l * w, e_l * w);
    magnitude = magnitude + s * maximum(mean, l * w + row.mean_magnitude + c.e * w);
    error = error + s * maximum(of_logarithms, of_logits);
    lost = lost + exp(h + 4 * c.lambda) * ((logarithm.floor + lse.floor + c.omega_r) * w +
                                           Real::integer(row.statistics.size) * (2 * c.omega_m + c.omega_a));
  }
  if (squared) {
    const Real z(options.z_loss);
    magnitude = magnitude + z * square(l);
    error = error + z * e_l * (2 * l + e_l);
    lost = lost + z * lse.floor * (2 * (l + e_l) + lse.floor);
  }
  const int factors = (smoothed || squared ? 3 : 0) + (row.weighted ? 2 : 0);
  const Real k = (factors + (smoothed ? 2 : 0) + (squared ? 1 : 0)) * c.lambda;
  return c.then_output(perturbed(k, magnitude, error), row.loss_magnitude,
                       exp(k) * (lost + 8 * (c.omega_m + c.omega_a)));
}

/// "The mean".
inline ScalarThreshold<Real> mean_loss(const Contract& contract, std::uint64_t rows, const Real& magnitude,
                                       const Real& error, double divisor, bool weighted) {
  const Arithmetic a(contract);
  const Real h = Real::integer(summation_height(contract, rows)) * a.lambda;
  const Real log = h + 2 * a.lambda + (weighted ? h + a.lambda : Real(0)), by = 1 / Real(divisor);
  const Real lost =
      by * exp(log) * Real::integer(rows) * a.omega_a + 2 * a.omega_m * (1 + exp(log) * (magnitude + error));
  return a.then_output(by * perturbed(log, magnitude, error), by * magnitude, lost);
}

/// B15.
inline ScalarThreshold<Real> loss_gradient(const Contract& contract, const CrossEntropyOptions& options,
                                           const CrossEntropyRow<Real>& row, const Real& upstream,
                                           const CrossEntropyElement<Real>& element, Grants grants) {
  const Capped c(contract, options, row.statistics);
  const Softmax softmax(c.inner, c.row, grants);
  const ElementThreshold<Real> of_p = softmax.chord(softmax.element_log(), softmax.t, softmax.element_lost());
  const LinearThreshold<Real> logarithm = log_softmax(c.inner, c.row, grants);
  const ScalarThreshold<Real> lse = logsumexp(c.inner, c.row, grants);
  const bool smoothed = options.label_smoothing > 0, squared = options.z_loss > 0;

  const Real D = element.deviation + 2 * c.e, &p = element.coefficient;
  const Real steps = grown(Real(std::max(contract.exp_argument_error - 1, 0.0)) * c.lambda);
  const Real c_0 = logarithm.constant + logarithm.floor, s_0 = logarithm.slope;
  const ElementThreshold<Real> power =
      softmax.chord(c_0 + steps * (c.row.log_sum + c_0) + c.lambda_e, s_0 + steps * (1 + s_0), c.omega_x);
  const auto larger = [](const Real& a, const Real& b) { return promises(a) && promises(b) ? maximum(a, b) : none(); };
  const Real wider = larger(of_p.constant + of_p.slope * D, power.constant + power.slope * D);
  const Real dp = p * (exp(2 * c.e) * (1 + wider) - 1), lost_p = larger(of_p.floor, power.floor);
  const Real two = 2 * c.lambda;
  const auto times_upstream = [&](const Real& value, const Real& off, const Real& under) {
    return exp(two) * (upstream * under + c.omega_m * (value + off + under)) + c.omega_m;
  };
  Real error, lost, early;
  if (!smoothed && !squared && !row.weighted) {
    error = dp + c.u * (element.difference + dp);
    lost = lost_p * (1 + c.u) + c.omega_a;
    early = times_upstream(element.difference, error, lost);
  } else {
    const Real s(options.label_smoothing), two_z = 2 * Real(options.z_loss);
    const Real alpha = (1 - s) * row.target_weight + s * row.mean_weight + two_z * c.row.logsumexp_magnitude;
    const Real e_alpha = two_z * (lse.total() + c.e);
    int roundings = (smoothed ? 5 : 0) + (squared ? 4 : 0) + (row.weighted ? 3 : 0);
    if (!smoothed) ++roundings;  // the difference
    Real k = roundings * c.lambda;
    if (smoothed) k = k + Real::integer(summation_height(contract, row.statistics.size)) * c.lambda;
    error = exp(k) * ((alpha + e_alpha) * (p + dp) + element.subtrahend) - (alpha * p + element.subtrahend);
    lost = exp(k) * ((alpha + e_alpha) * lost_p + 6 * (c.omega_m + c.omega_a));
    // "upstream": with each addend, that a weight, |L| or alpha may follow.
    const Real classes = Real::integer(row.statistics.size), total = classes * row.mean_weight;
    Real of_alpha = row.target_weight + 2, own(0);
    if (smoothed) of_alpha = of_alpha + total + 2 * classes;
    if (smoothed) own = minimum(total, element.subtrahend * classes / s) + 2;
    if (squared) of_alpha = of_alpha + c.row.logsumexp_magnitude + lse.total() + c.e + 2;
    const Real each = c.omega_m + c.omega_a, share = (alpha + e_alpha) * lost_p;
    const Real all = (alpha + e_alpha) * (p + dp) + element.subtrahend + share;
    const Real of_addends = exp(k + two) * (upstream * share + c.omega_m * all + each * of_alpha * (p + dp + lost_p) +
                                            each * (row.target_weight + own + alpha + e_alpha + 10));
    early = larger(times_upstream(element.difference, error, lost), of_addends);
  }
  Real difference = element.difference;
  if (options.softcap != 0) {
    const Real q = grown(2 * c.log_error + 3 * c.lambda) * element.cap_square;
    const Real of_slope = q + c.u * (element.cap_slope + q) + 4 * c.omega_m;
    const Real of_product = perturbed(c.lambda, element.cap_slope, of_slope);
    const Real slope = exp(c.lambda) * (element.cap_slope + of_slope);
    early = early * slope + c.omega_m;
    lost = lost * slope + c.omega_m;
    error = error * (element.cap_slope + of_product) + difference * of_product;
    difference = difference * element.cap_slope;
  }
  const Real all_lost = larger(early, times_upstream(difference, error, lost));
  return c.then_output(upstream * perturbed(two, difference, error), upstream * difference, all_lost);
}

}  // namespace softcheck::numerics::stated
