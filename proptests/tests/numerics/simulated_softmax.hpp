#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "numerics/rounding/contract.hpp"

namespace softcheck::numerics::simulated {

/// What merge makes of the leaves, one after the other.
template <class Leaf, class Merge>
Leaf merged_sequentially(std::span<const Leaf> leaves, Merge merge) {
  Leaf total = leaves.front();
  for (const Leaf& leaf : leaves.subspan(1)) total = merge(total, leaf);
  return total;
}

/// What merge makes of the leaves in a balanced tree.
template <class Leaf, class Merge>
Leaf merged_pairwise(std::vector<Leaf> leaves, Merge merge) {
  while (leaves.size() > 1) {
    std::vector<Leaf> halved;
    for (std::size_t i = 0; i + 1 < leaves.size(); i += 2) halved.push_back(merge(leaves[i], leaves[i + 1]));
    if (leaves.size() % 2) halved.push_back(leaves.back());
    leaves = std::move(halved);
  }
  return leaves.front();
}

/// What merge makes of the leaves in a contract's order.
///
/// leaves   at least one          empty   a leaf that changes nothing
template <class Leaf, class Merge>
Leaf merged_in_order(const Summation& summation, std::vector<Leaf> leaves, const Leaf& empty, Merge merge) {
  const std::size_t width = summation.width;
  const std::span<const Leaf> all(leaves);
  std::vector<Leaf> partial;
  switch (summation.kind) {
    case Summation::Kind::sequential:
      return merged_sequentially(all, merge);
    case Summation::Kind::tree:
      return merged_pairwise(std::move(leaves), merge);
    case Summation::Kind::lanes:
      partial.assign(width, empty);
      for (std::size_t i = 0; i < all.size(); ++i) {
        partial[i % width] = i < width ? all[i] : merge(partial[i % width], all[i]);
      }
      return merged_pairwise(std::move(partial), merge);
    case Summation::Kind::blocks:
      for (std::size_t i = 0; i < all.size(); i += width) {
        partial.push_back(merged_sequentially(all.subspan(i, std::min(width, all.size() - i)), merge));
      }
      return merged_pairwise(std::move(partial), merge);
  }
  return empty;
}

/// Which of the errors that a contract allows an exponential or a logarithm makes.
enum class Errors { nearest, up, down, random, up_below_one };

/// The arithmetic of an accumulator format, by doubles: a sum, product or quotient of two numbers of at most 24 bits is
/// the same whether rounded to 53 bits first or not, as 53 >= 2 * 24 + 2.
class Arithmetic {
 public:
  Arithmetic(const Contract& contract, Errors errors, std::uint64_t seed = 1)
      : contract_(contract), format_(properties(contract.accumulator)), errors_(errors), engine_(seed) {}

  double round(double x) const {
    // round_to by bits costs more than the native conversion.
    const double rounded = contract_.accumulator == Format::f64   ? x
                           : contract_.accumulator == Format::f32 ? static_cast<double>(static_cast<float>(x))
                                                                  : round_to(contract_.accumulator, x);
    return flush(rounded, format_);
  }
  double add(double a, double b) const { return round(a + b); }
  double subtract(double a, double b) const { return round(a - b); }
  double multiply(double a, double b) const { return a == 0 || b == 0 ? 0 : round(a * b); }
  double divide(double a, double b) const { return round(a / b); }
  /// As it is stored on its way, where the contract has a format for it.
  double stored(const std::optional<Format>& format, double x) const {
    return format ? flush(round_to(*format, x), properties(*format)) : x;
  }
  double output(double x) const { return flush(round_to(contract_.output, x), properties(contract_.output)); }

  /// e^a, a <= 0 a number of the accumulator, with the errors that A and E leave beyond the rounding of a itself.
  double exponential(double a) {
    if (a == 0 && (errors_ == Errors::nearest || errors_ == Errors::random)) return 1;
    const double beyond = std::max(contract_.exp_argument_error - 1, 0.0) * format_.unit_roundoff * inward;
    const long double argument = static_cast<long double>(a) * (1 - sign(a != 0) * beyond);
    const long double exact = std::exp(argument);
    // The model's cutoff D_0: no exponential invents a number this far below the smallest.
    if (exact < static_cast<long double>(format_.smallest_subnormal) * format_.smallest_subnormal) return 0;
    return allowed(exact, contract_.exp_error * format_.unit_roundoff, a != 0);
  }

  double logarithm(double a) {
    const long double exact = std::log(static_cast<long double>(a));
    return allowed(exact, contract_.log_error * format_.unit_roundoff, a != 1);
  }

  const Contract& contract() const { return contract_; }
  Errors errors() const { return errors_; }
  void set_errors(Errors errors) { errors_ = errors; }

 private:
  // Long double's own error, 2^-63 relative, stays inside an allowance of at least 2^-53.
  static constexpr double inward = 1 - 0x1p-8;

  double flush(double x, const FormatProperties& format) const {
    const bool lost = contract_.subnormals == Subnormals::flushed && std::abs(x) < format.smallest_normal;
    return lost ? std::copysign(0.0, x) : x;
  }

  double sign(bool below_one) {
    switch (errors_) {
      case Errors::nearest:
        return 0;
      case Errors::up:
        return 1;
      case Errors::down:
        return -1;
      case Errors::random:
        return std::uniform_real_distribution<double>(-1, 1)(engine_);
      case Errors::up_below_one:
        return below_one ? 1 : -1;
    }
    return 0;
  }

  // The number of the format nearest to exact (1 + sign bound), or its neighbour towards exact where that is too far.
  double allowed(long double exact, double bound, bool below_one) {
    const double direction = sign(below_one);
    const double quanta = contract_.exp_error / 2 * format_.smallest_subnormal;  // where ulps stop shrinking
    const long double room = std::max(std::abs(exact) * static_cast<long double>(bound * inward),
                                      static_cast<long double>(std::abs(exact) < format_.smallest_normal ? quanta : 0));
    const double nearest = round_to(contract_.accumulator, static_cast<double>(exact));
    if (direction == 0) return flush(nearest, format_);
    double wanted = round_to(contract_.accumulator, static_cast<double>(exact + direction * room));
    if (std::abs(static_cast<long double>(wanted) - exact) > room) {
      // Half a step back rounds to the neighbour nearer to exact.
      const double step = std::max(std::abs(wanted) * format_.unit_roundoff * 2, format_.smallest_subnormal);
      wanted = round_to(contract_.accumulator, wanted - (wanted > exact ? step : -step) * 0.75);
      if (std::abs(static_cast<long double>(wanted) - exact) > room) wanted = nearest;
    }
    return flush(wanted, format_);
  }

  Contract contract_;
  const FormatProperties& format_;
  Errors errors_;
  std::mt19937_64 engine_;
};

inline double sum_in_order(const Arithmetic& a, std::vector<double> terms) {
  return merged_in_order(a.contract().summation, std::move(terms), 0.0, [&](double x, double y) {
    return x == 0 ? y : y == 0 ? x : a.add(x, y);
  });
}

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
  double entropy_from_logits = 0;        // m + ln S - sum p x
  double entropy_from_coefficients = 0;  // -sum p (x - lse)
  double deviations = 0;                 // T: infinite where it overflows
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
    if (std::isinf(x)) return {};
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
    const double difference = arithmetic_.subtract(maximum, x);
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
    total.sum = arithmetic_.stored(arithmetic_.contract().total, total.sum);
    results.sum = total.sum;
    results.deviations = total.deviations;
    const double inverse = arithmetic_.divide(1, total.sum);
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
    results.logsumexp = arithmetic_.output(logsumexp);
    if (!raw.empty()) {
      results.entropy_from_logits = arithmetic_.output(arithmetic_.subtract(logsumexp, sum_of(raw)));
      results.entropy_from_coefficients = arithmetic_.output(sum_of(informations));
    }
    results.entropy = arithmetic_.output(arithmetic_.add(log_sum, over_sum(total.deviations)));
    return results;
  }

  Arithmetic arithmetic_;
  Plan plan_;
  bool scales_before_;
  double reciprocal_;
};

}  // namespace softcheck::numerics::simulated
