#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "proptests/tests/numerics/simulated_arithmetic.hpp"

namespace softcheck::numerics::simulated {

/// How a kernel goes over a row, beyond its contract.
struct Plan {
  bool online = false;                  // running maximum instead of a pass for the maximum
  bool recompute = false;               // numerators are computed again, with the errors below
  Errors numerators = Errors::nearest;  // of the recomputed numerators
  bool reciprocal = false;              // multiply by 1/S instead of dividing
  double theta = 1;
};

struct Results {
  double sum = 0;
  std::vector<double> coefficients;
  std::vector<double> log_softmax;
  double logsumexp = 0;
  double entropy = 0;
  double entropy_of_logits = 0;        // m + ln S - sum p x
  double entropy_of_coefficients = 0;  // -sum p (x - lse)
  double deviations = 0;               // T: infinite where it overflows
};

/// (m, S, T): S and T belong to the maximum m. Masked items have m = -inf.
struct State {
  double maximum = -std::numeric_limits<double>::infinity();
  double sum = 0;
  double deviations = 0;
};

/// A kernel of the softmax family in a simulated arithmetic: every operation of the model once, in the order of the
/// contract's summation.
class Kernel {
 public:
  Kernel(const Contract& contract, Errors errors, const Plan& plan, std::uint64_t seed = 1)
      : arithmetic_(contract, errors, seed),
        plan_(plan),
        scales_before_(contract.theta == ThetaUse::before && plan.theta != 1),
        reciprocal_(arithmetic_.round(1 / plan.theta)) {}

  Results operator()(std::span<const double> logits) {
    std::vector<double> row(logits.begin(), logits.end());
    double maximum = -std::numeric_limits<double>::infinity();
    for (double& x : row) {
      x = std::isinf(x) ? x : arithmetic_.round(x);
      if (scales_before_ && !std::isinf(x)) x = arithmetic_.multiply(x, reciprocal_);
      maximum = std::max(maximum, x);
    }
    std::vector<State> leaves;
    leaves.reserve(row.size());
    for (const double x : row) leaves.push_back(leaf(x, plan_.online ? x : maximum));
    std::vector<double> weights;
    if (!plan_.online && !plan_.recompute) {
      for (const State& state : leaves) weights.push_back(state.sum);
    }
    const State total = reduce(std::move(leaves));
    const Errors saved = arithmetic_.errors();
    if (weights.empty()) {
      if (plan_.recompute) arithmetic_.set_errors(plan_.numerators);
      for (const double x : row) weights.push_back(leaf(x, total.maximum).sum);
      arithmetic_.set_errors(saved);
    }
    return finish(row, weights, total);
  }

 private:
  State leaf(double x, double maximum) {
    const double least = arithmetic_.contract().least_exp;
    if (std::isinf(x)) return std::isinf(maximum) || least == 0 ? State{} : State{maximum, least, 0};
    const double deviation = deviation_of(maximum, x);
    const double exponential = arithmetic_.exponential(-deviation);
    const double weight = arithmetic_.stored(arithmetic_.contract().weights, exponential);
    return {maximum, weight, arithmetic_.multiply(weight, deviation)};
  }

  bool scaled_by_now() const { return plan_.theta == 1 || scales_before_; }

  // In the contract's order.
  double sum_of(const std::vector<double>& terms) {
    std::vector<State> states;
    for (const double term : terms) states.push_back({0, term, 0});
    return reduce(std::move(states)).sum;
  }

  double deviation_of(double maximum, double x) const {
    const double difference = arithmetic_.stored(arithmetic_.contract().differences, arithmetic_.subtract(maximum, x));
    return scaled_by_now() ? difference : arithmetic_.multiply(difference, reciprocal_);
  }

  // T <- a (T + d S), S <- a S, where the maximum grows.
  State rescaled(const State& state, double maximum) {
    if (state.maximum == maximum || std::isinf(state.maximum)) return state;
    const double d = deviation_of(maximum, state.maximum);
    const double factor = arithmetic_.exponential(-d);
    const double shifted = arithmetic_.add(state.deviations, arithmetic_.multiply(d, state.sum));
    return {maximum, arithmetic_.multiply(factor, state.sum), arithmetic_.multiply(factor, shifted)};
  }

  State merge(const State& a, const State& b) {
    const double maximum = std::max(a.maximum, b.maximum);
    const State left = rescaled(a, maximum);
    const State right = rescaled(b, maximum);
    return {maximum, arithmetic_.add(left.sum, right.sum), arithmetic_.add(left.deviations, right.deviations)};
  }

  State reduce(std::vector<State> leaves) {
    return merged_in_order(arithmetic_.contract().summation, std::move(leaves), State{},
                           [&](const State& a, const State& b) { return merge(a, b); });
  }

  Results finish(std::span<const double> row, std::span<const double> weights, State total) {
    Results results;
    const double unstored = total.sum;
    total.sum = arithmetic_.stored(arithmetic_.contract().total, total.sum);
    results.sum = total.sum;
    results.deviations = total.deviations;
    const double inverse = arithmetic_.stored(arithmetic_.contract().total, arithmetic_.divide(1, unstored));
    const auto over_sum = [&](double x) {
      return plan_.reciprocal ? arithmetic_.multiply(x, inverse) : arithmetic_.divide(x, total.sum);
    };
    const double log_sum = arithmetic_.logarithm(total.sum);
    const double maximum = scaled_by_now() ? total.maximum : arithmetic_.multiply(total.maximum, reciprocal_);
    const double logsumexp = arithmetic_.add(maximum, log_sum);
    const bool centred = arithmetic_.contract().lse == LseForm::centred;
    std::vector<double> raw, informations;
    for (std::size_t i = 0; i < row.size(); ++i) {
      results.coefficients.push_back(arithmetic_.output(over_sum(weights[i])));
      if (std::isinf(row[i])) {
        results.log_softmax.push_back(row[i]);
        continue;
      }
      const double scaled = scaled_by_now() ? row[i] : arithmetic_.multiply(row[i], reciprocal_);
      raw.push_back(arithmetic_.multiply(over_sum(weights[i]), scaled));
      informations.push_back(arithmetic_.multiply(over_sum(weights[i]), arithmetic_.subtract(logsumexp, scaled)));
      results.log_softmax.push_back(
          arithmetic_.output(centred ? arithmetic_.subtract(-deviation_of(total.maximum, row[i]), log_sum)
                                     : arithmetic_.subtract(scaled, logsumexp)));
    }
    results.logsumexp =
        arithmetic_.output(arithmetic_.contract().lse == LseForm::running ? running_logsumexp(row) : logsumexp);
    if (!raw.empty()) {
      results.entropy_of_logits = arithmetic_.output(arithmetic_.subtract(logsumexp, sum_of(raw)));
      results.entropy_of_coefficients = arithmetic_.output(sum_of(informations));
    }
    results.entropy = arithmetic_.output(arithmetic_.add(log_sum, over_sum(total.deviations)));
    return results;
  }

  // In the contract's order, each total from two earlier ones.
  double running_logsumexp(std::span<const double> row) {
    constexpr double nothing = -std::numeric_limits<double>::infinity();
    std::vector<double> totals;
    for (const double x : row) {
      totals.push_back(scaled_by_now() || std::isinf(x) ? x : arithmetic_.multiply(x, reciprocal_));
    }
    return merged_in_order(arithmetic_.contract().summation, std::move(totals), nothing, [&](double a, double b) {
      const double larger = std::max(a, b), less = std::min(a, b);
      if (std::isinf(less)) return larger;
      const double more = arithmetic_.exponential(arithmetic_.subtract(less, larger));
      return arithmetic_.add(larger, arithmetic_.logarithm(arithmetic_.add(1, more)));
    });
  }

  Arithmetic arithmetic_;
  Plan plan_;
  bool scales_before_;
  double reciprocal_;
};

}  // namespace softcheck::numerics::simulated
