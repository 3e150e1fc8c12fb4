#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "numerics/enclosures/decision.hpp"
#include "numerics/rounding/flushed_output.hpp"
#include "numerics/rounding/rounding.hpp"
#include "proptests/tests/numerics/simulated_softmax.hpp"

namespace softcheck::numerics::simulated {

/// |got - exact|; infinite doubles are nobody's neighbours.
inline Enclosure error_of(double got, const Enclosure& exact) { return abs(Enclosure(got) - exact); }

/// Does a bound hold for what a simulation computed? An infinite bound always does.
inline bool holds(const Enclosure& error, double bound) {
  return std::isinf(bound) || less_equal(error, Enclosure(bound)) == Decision::proved;
}

inline bool holds(double got, const Enclosure& exact, double bound) {
  if (std::isinf(bound)) return true;
  return std::isfinite(got) && holds(error_of(got, exact), bound);
}

/// Is it certain that the bound is exceeded?
inline bool exceeds(double got, const Enclosure& exact, double bound) {
  return !std::isfinite(got) || less_equal(error_of(got, exact), Enclosure(bound)) == Decision::violated;
}

/// The same of a result that is rightly infinite where the real, or one that the bound allows, rounds to infinity.
inline bool holds_or_overflows(Format output, double got, const Enclosure& exact, double bound) {
  if (std::isinf(bound)) return true;
  const bool beyond = less(abs(exact) + Enclosure(bound), Enclosure(infinity_from(output))) != Decision::proved;
  return holds(got, exact, bound) || (beyond && !std::isfinite(got));
}

/// Share of the bound that an error certainly uses.
inline double used(double got, const Enclosure& exact, double bound) {
  if (!(bound > 0) || std::isinf(bound) || !std::isfinite(got)) return 0;
  return std::max(0.0, (error_of(got, exact) / Enclosure(bound)).lower_double());
}

/// Largest share of each bound seen.
struct Ratios {
  double sum = 0, element = 0, variation = 0, row_sum = 0, logsumexp = 0, log_softmax = 0, entropy = 0, from_logits = 0,
         from_coefficients = 0;
};

/// The entropies of other forms against what entropy_from= grants. Names the first broken bound, or is empty.
inline std::string broken_entropy(const Contract& contract, const Enclosure& exact,
                                  const RowStatistics<UpperBound>& row, const Results& got, Ratios& ratios) {
  Contract form = contract;
  form.lse = LseForm::uncentred;
  const auto judge = [&](EntropyFrom from, double value, double& ratio) {
    form.entropy_from = from;
    const double bound = threshold_of_result(form, upper(contracted_entropy_error(form, row).total()), value);
    ratio = std::max(ratio, used(value, exact, bound));
    return holds(value, exact, bound);
  };
  if (!judge(EntropyFrom::logits, got.entropy_from_logits, ratios.from_logits)) return "B7";
  if (!judge(EntropyFrom::coefficients, got.entropy_from_coefficients, ratios.from_coefficients)) return "B6d, x - lse";
  return {};
}

/// Everything a simulated kernel returned for one row against B1-B6. Names the first broken bound, or is empty. A
/// kernel whose sums overflow keeps no contract: of what it makes of them nothing is asked.
///
/// stride    elements judged one by one: every stride-th
inline std::string broken_bound(const Contract& contract, const RowOracle& oracle, const RowStatistics<UpperBound>& row,
                                const Results& got, Ratios& ratios, std::size_t stride = 1) {
  const auto judge = [](double value, const Enclosure& exact, double bound, double& ratio) {
    ratio = std::max(ratio, used(value, exact, bound));
    return holds(value, exact, bound);
  };
  // Of a result in the output's format: one that is not 0 was not flushed.
  const auto judge_result = [&](double value, const Enclosure& exact, double bound, double& ratio) {
    return judge(value, exact, threshold_of_result(contract, bound, value), ratio);
  };
  if (std::isinf(got.sum)) return {};
  const double sum_bound = upper(sum_error(contract, row) * UpperBound(oracle.sum().upper_double()));
  if (!judge(got.sum, oracle.sum(), sum_bound, ratios.sum)) return "B1";

  const ElementThreshold<UpperBound> element = softmax_error(contract, row);
  const LinearThreshold<UpperBound> linear = log_softmax_error(contract, row);
  // Overflow: where the accumulator promises nothing, nothing is judged.
  if (std::isinf(upper(element.constant))) return {};
  Enclosure total(0);
  Enclosure variation(0);
  std::uint64_t zeros = 0;
  for (std::size_t i = 0; i < got.coefficients.size(); ++i) {
    if (!std::isfinite(got.coefficients[i])) return "B2: not finite";
    total += Enclosure(got.coefficients[i]);
    if (!oracle.is_visible(i)) {
      if (got.coefficients[i] != 0) return "B2 of a masked item";
      continue;
    }
    zeros += got.coefficients[i] == 0 ? 1 : 0;
    if (i % stride != 0 && i != oracle.argmax()) continue;
    const Enclosure exact = oracle.softmax(i);
    const UpperBound deviation(std::max(oracle.deviation(i).upper_double(), 0.0));
    variation += error_of(got.coefficients[i], exact);
    if (!judge_result(got.coefficients[i], exact, upper(element.at(deviation, UpperBound(exact.upper_double()))),
                      ratios.element)) {
      return "B2 of item " + std::to_string(i);
    }
    if (got.coefficients[i] > 1 + upper(coefficient_excess(contract, row, deviation))) return "the excess over 1";
    const bool finite = deviation.value() * row.theta < overflow_limit(contract) &&
                        abs(oracle.log_softmax(i)).upper_double() < overflow_limit(contract);
    if (finite &&
        !judge_result(got.log_softmax[i], oracle.log_softmax(i), upper(linear.at(deviation)), ratios.log_softmax)) {
      return "B5 (log_softmax) of item " + std::to_string(i);
    }
  }
  const double variation_bound = upper(total_variation_error(contract, row));
  if (std::isfinite(variation_bound)) {
    ratios.variation = std::max(ratios.variation, (variation / Enclosure(variation_bound)).lower_double());
  }
  if (!holds(variation, variation_bound)) return "B3";
  const double row_sum = threshold_of_sum(contract, upper(row_sum_error(contract, row).total()), row.visible, zeros);
  if (std::isfinite(row_sum)) {
    ratios.row_sum = std::max(ratios.row_sum, (abs(total - 1) / Enclosure(row_sum)).lower_double());
  }
  if (!holds(abs(total - 1), row_sum)) return "B4";
  const double logsumexp_bound =
      threshold_of_result(contract, upper(logsumexp_error(contract, row).total()), got.logsumexp);
  ratios.logsumexp = std::max(ratios.logsumexp, used(got.logsumexp, oracle.logsumexp(), logsumexp_bound));
  if (!holds_or_overflows(contract.output, got.logsumexp, oracle.logsumexp(), logsumexp_bound)) return "B5";
  if (std::isfinite(got.logsumexp)) {
    const std::string broken = broken_entropy(contract, oracle.entropy(), row, got, ratios);
    if (!broken.empty()) return broken;
  }
  if (std::isinf(got.deviations)) return {};
  if (!judge_result(got.entropy, oracle.entropy(), upper(entropy_error(contract, row).total()), ratios.entropy))
    return "B6";
  if (got.entropy < -upper(entropy_undershoot(contract, row))) return "the entropy's undershoot";
  return {};
}

}  // namespace softcheck::numerics::simulated
