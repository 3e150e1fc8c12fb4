#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "proptests/tests/numerics/bound_shares.hpp"

namespace softcheck::numerics::simulated {

using Row = RowStatistics<UpperBound>;

inline Row statistics_of(const Contract& contract, const RowOracle& oracle, std::span<const double> logits,
                         double theta = 1) {
  return row_statistics<UpperBound>(oracle, rescaling_count(contract, logits), theta);
}

/// B2 of one item.
inline double b2(const Contract& contract, const Row& row, const RowOracle& oracle, std::size_t item) {
  return upper(
      softmax_error(contract, row).at(above(oracle.deviation(item)), UpperBound(oracle.softmax(item).upper_double())));
}
inline double b1(const Contract& contract, const Row& row, const RowOracle& oracle) {
  return upper(sum_error(contract, row) * UpperBound(oracle.sum().upper_double()));
}

/// The entropies of other forms against what entropy_from= grants.
inline void judge_entropy_forms(const Contract& contract, const Enclosure& exact, const Row& row, const Results& got,
                                BoundShares& shares) {
  Contract form = contract;
  form.lse = LseForm::uncentred;
  const auto judge = [&](std::string_view name, EntropyFrom from, double value) {
    form.entropy_from = from;
    const double bound = upper(contracted_entropy_error(form, row).total());
    shares.judge(name, value, exact, threshold_of_result(form, bound, value));
  };
  judge("B7", EntropyFrom::logits, got.entropy_from_logits);
  judge("B6d", EntropyFrom::coefficients, got.entropy_from_coefficients);
}

/// The coefficients and their logarithms against B2 to B5, every stride-th of them.
inline void judge_elements(const Contract& contract, const RowOracle& oracle, const Row& row, const Results& got,
                           BoundShares& shares, std::size_t stride) {
  const ElementThreshold<UpperBound> element = softmax_error(contract, row);
  const LinearThreshold<UpperBound> linear = log_softmax_error(contract, row);
  // Of a result in the output's format: one that is not 0 was not flushed.
  const auto judge = [&](std::string_view name, double value, const Enclosure& exact, double bound) {
    shares.judge(name, value, exact, threshold_of_result(contract, bound, value));
  };
  Enclosure total(0), variation(0);
  std::uint64_t zeros = 0;
  for (std::size_t i = 0; i < got.coefficients.size(); ++i) {
    const double value = got.coefficients[i];
    ASSERT_TRUE(std::isfinite(value)) << "B2 of item " << i;
    total += Enclosure(value);
    if (!oracle.is_visible(i)) {
      ASSERT_EQ(value, 0) << "B2 of a masked item";
      continue;
    }
    zeros += value == 0 ? 1 : 0;
    if (i % stride != 0 && i != oracle.argmax()) continue;
    const Enclosure exact = oracle.softmax(i);
    const UpperBound deviation = above(oracle.deviation(i));
    variation += error_of(value, exact);
    judge("B2", value, exact, upper(element.at(deviation, UpperBound(exact.upper_double()))));
    EXPECT_LE(value, 1 + upper(coefficient_excess(contract, row, deviation))) << "the excess over 1";
    const bool finite = deviation.value() * row.theta < overflow_limit(contract) &&
                        abs(oracle.log_softmax(i)).upper_double() < overflow_limit(contract);
    if (finite) judge("log_softmax", got.log_softmax[i], oracle.log_softmax(i), upper(linear.at(deviation)));
  }
  shares.judge("B3", variation, upper(total_variation_error(contract, row)));
  shares.judge("B4", abs(total - 1),
               threshold_of_sum(contract, upper(row_sum_error(contract, row).total()), row.visible, zeros));
}

/// Everything a simulated kernel returned for one row against B1-B7. A kernel whose sums overflow keeps no contract: of
/// what it makes of them nothing is asked.
///
/// stride    elements judged one by one: every stride-th
inline void judge_softmax(const Contract& contract, const RowOracle& oracle, const Row& row, const Results& got,
                          BoundShares& shares, std::size_t stride = 1) {
  if (std::isinf(got.sum)) return;
  shares.judge("B1", got.sum, oracle.sum(), b1(contract, row, oracle));
  // Overflow: where the accumulator promises nothing, nothing is judged.
  if (std::isinf(upper(softmax_error(contract, row).constant))) return;
  judge_elements(contract, oracle, row, got, shares, stride);
  const double lse = threshold_of_result(contract, upper(logsumexp_error(contract, row).total()), got.logsumexp);
  shares.raise("B5", used(got.logsumexp, oracle.logsumexp(), lse));
  EXPECT_TRUE(holds_or_overflows(contract.output, got.logsumexp, oracle.logsumexp(), lse)) << "B5: " << got.logsumexp;
  if (std::isfinite(got.logsumexp)) judge_entropy_forms(contract, oracle.entropy(), row, got, shares);
  if (std::isinf(got.deviations)) return;
  shares.judge("B6", got.entropy, oracle.entropy(),
               threshold_of_result(contract, upper(entropy_error(contract, row).total()), got.entropy));
  EXPECT_GE(got.entropy, -upper(entropy_undershoot(contract, row))) << "the entropy's undershoot";
}

}  // namespace softcheck::numerics::simulated
