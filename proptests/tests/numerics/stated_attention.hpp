#pragma once

#include <vector>

#include "numerics/rounding/rounding_attention.hpp"
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
    Real lost = s.omega_x + Real(narrow.smallest_subnormal) + s.omega_m;
    if (s.flushed) lost = lost + Real(narrow.smallest_normal);
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

}  // namespace softcheck::numerics::stated
