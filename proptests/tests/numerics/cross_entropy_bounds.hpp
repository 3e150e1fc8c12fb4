#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "numerics/oracles/cross_entropy.hpp"
#include "numerics/rounding/rounding_cross_entropy.hpp"
#include "proptests/tests/numerics/bound_shares.hpp"
#include "proptests/tests/numerics/simulated_arithmetic.hpp"

namespace softcheck::numerics::simulated {

/// How a cross-entropy kernel goes about it, beyond its contract.
struct CrossEntropyPlan {
  bool mean_of_logits = false;  // label smoothing by L - mean x, not by the mean of the log-probabilities
  bool reciprocal = false;      // p by a product with 1 / S
  bool by_logarithm = false;    // p as the exponential of its log-probability
};

struct CrossEntropyResults {
  double loss = 0;
  double unrounded_loss = 0;  // before the output's format
  std::vector<double> gradient;
};

/// A cross-entropy kernel in a simulated arithmetic; weights are empty or one a class.
inline CrossEntropyResults cross_entropy(Arithmetic& a, std::span<const double> logits, std::size_t label,
                                         const CrossEntropyOptions& options, std::span<const double> weights,
                                         double upstream, double divisor, const CrossEntropyPlan& plan) {
  const std::size_t classes = logits.size();
  const double unit = properties(a.contract().accumulator).unit_roundoff;
  const double cap = a.round(options.softcap), s = a.round(options.label_smoothing), z = a.round(options.z_loss);
  const auto weight = [&](std::size_t j) { return weights.empty() ? 1 : a.round(weights[j]); };
  std::vector<double> x(classes), tau(classes);
  for (std::size_t j = 0; j < classes; ++j) {
    x[j] = std::isinf(logits[j]) ? logits[j] : a.round(logits[j]);
    if (cap == 0) continue;
    // Half of what the contract allows beside its rounding, upwards in size.
    tau[j] = a.round(std::tanh(a.divide(x[j], cap)) * (1 + 0.95 * std::max(options.tanh_error - 1, 0.0) * unit));
    x[j] = a.multiply(cap, tau[j]);
  }
  const double maximum = *std::max_element(x.begin(), x.end());
  std::vector<double> powers;
  for (const double v : x) powers.push_back(std::isinf(v) ? 0 : a.exponential(a.subtract(v, maximum)));
  const double sum = sum_in_order(a, powers);
  const double log_sum = a.logarithm(sum), logsumexp = a.add(maximum, log_sum);
  const bool centred = a.contract().lse == LseForm::centred;
  const auto negative_log = [&](std::size_t j) {
    return centred ? a.subtract(log_sum, a.subtract(x[j], maximum)) : a.subtract(logsumexp, x[j]);
  };

  double loss = negative_log(label);
  const double rest = a.subtract(1, s);
  if (s != 0) loss = a.multiply(loss, rest);
  if (!weights.empty()) loss = a.multiply(loss, weight(label));
  double mean_weight = 1;
  if (s != 0) {
    std::vector<double> terms, taken;
    for (std::size_t j = 0; j < classes; ++j) {
      const double term = plan.mean_of_logits ? x[j] : negative_log(j);
      terms.push_back(weights.empty() ? term : a.multiply(weight(j), term));
      taken.push_back(weight(j));
    }
    if (!weights.empty()) mean_weight = a.divide(sum_in_order(a, taken), static_cast<double>(classes));
    const double mean = a.divide(sum_in_order(a, terms), static_cast<double>(classes));
    if (plan.mean_of_logits) {
      loss = a.add(loss, a.multiply(s, a.subtract(a.multiply(logsumexp, mean_weight), mean)));
    } else {
      loss = a.add(loss, a.multiply(s, mean));
    }
  }
  if (z != 0) loss = a.add(loss, a.multiply(z, a.multiply(logsumexp, logsumexp)));

  CrossEntropyResults results{a.output(loss), loss, {}};
  const double inverse = a.divide(1, sum);
  const double scale = a.divide(upstream, divisor);
  double alpha = weights.empty() ? 1 : a.add(a.multiply(rest, weight(label)), a.multiply(s, mean_weight));
  if (!weights.empty() && s == 0) alpha = weight(label);
  if (z != 0) alpha = a.add(alpha, a.multiply(a.multiply(2, z), logsumexp));
  const bool plain = s == 0 && z == 0 && weights.empty();
  for (std::size_t j = 0; j < classes; ++j) {
    double p = plan.reciprocal ? a.multiply(powers[j], inverse) : a.divide(powers[j], sum);
    if (plan.by_logarithm) p = std::isinf(x[j]) ? 0 : a.exponential(std::min(-negative_log(j), 0.0));
    double v = plain ? p : a.multiply(alpha, p);
    if (s != 0) v = a.subtract(v, a.multiply(a.divide(s, static_cast<double>(classes)), weight(j)));
    if (j == label) v = a.subtract(v, plain ? 1 : weights.empty() ? rest : a.multiply(rest, weight(j)));
    if (cap != 0) v = a.multiply(v, a.subtract(1, a.multiply(tau[j], tau[j])));
    results.gradient.push_back(a.output(a.multiply(scale, v)));
  }
  return results;
}

inline std::vector<double> class_weights(std::size_t n) {
  std::vector<double> weights(n);
  for (std::size_t j = 0; j < n; ++j) weights[j] = static_cast<float>(0.3 + 0.1 * static_cast<double>(j % 11));
  return weights;
}

/// One kernel on one row: what it got, and the bounds.
struct Judged {
  double loss_share = 0, gradient_share = 0;  // of item 0 or the label
  bool holds = true;
  bool loss_exceeds = false, gradient_exceeds = false;  // the planted bounds
};

struct CrossEntropyCase {
  const char* words;
  std::vector<double> logits;
  std::size_t label = 0;
  std::size_t item = 0;
  CrossEntropyOptions options = {};
  bool weighted = false;
  Errors errors = Errors::nearest;
  CrossEntropyPlan plan = {};
  Format input = Format::f32, output = Format::f32;
  double upstream = 1, divisor = 1;
};

/// What is left out of a bound.
struct Left {
  std::function<void(Contract&)> contract = [](Contract&) {};
  std::function<void(CrossEntropyOptions&)> options = [](CrossEntropyOptions&) {};
  std::function<void(CrossEntropyRow<UpperBound>&)> row = [](CrossEntropyRow<UpperBound>&) {};
  std::function<void(CrossEntropyElement<UpperBound>&)> element = [](CrossEntropyElement<UpperBound>&) {};
};

inline Judged judged(const CrossEntropyCase& c, const Left& left = {}) {
  const PrecisionScope scope(113);
  Contract contract = parse_contract(c.words, c.input, c.output);
  const std::vector<double> weights = c.weighted ? class_weights(c.logits.size()) : std::vector<double>{};
  const CrossEntropyOracle oracle(c.logits, c.label, c.options, weights);
  auto row = oracle.row<UpperBound>(cross_entropy_rescalings(contract, c.options, c.logits));
  Arithmetic arithmetic(contract, c.errors);
  const auto got = cross_entropy(arithmetic, c.logits, c.label, c.options, weights, c.upstream, c.divisor, c.plan);
  const Enclosure scale = Enclosure(c.upstream) / Enclosure(c.divisor);
  const Enclosure exact = oracle.gradient(c.item, scale);
  auto element = oracle.element<UpperBound>(c.item);
  CrossEntropyOptions options = c.options;
  const auto bounds = [&] {
    const CrossEntropyGradientThreshold<UpperBound> threshold(contract, options, row, UpperBound(scale.upper_double()));
    return std::pair(upper(cross_entropy_error(contract, options, row).total()),
                     upper(threshold.element(element).total()));
  };
  Judged result;
  const auto [loss, gradient] = bounds();
  result.loss_share = used(got.loss, oracle.loss(), loss);
  result.gradient_share = used(got.gradient[c.item], exact, gradient);
  result.holds = holds(got.loss, oracle.loss(), loss) && holds(got.gradient[c.item], exact, gradient);
  left.contract(contract);
  left.options(options);
  left.row(row);
  left.element(element);
  const auto [wrong_loss, wrong_gradient] = bounds();
  result.loss_exceeds = exceeds(got.loss, oracle.loss(), wrong_loss);
  result.gradient_exceeds = exceeds(got.gradient[c.item], exact, wrong_gradient);
  return result;
}

}  // namespace softcheck::numerics::simulated
