#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

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

/// The bounds B1 to B7 of a row, computed once for all simulated kernels that are judged on it.
class RowBounds {
 public:
  /// stride    elements judged one by one: every stride-th
  RowBounds(Contract contract, const RowOracle& oracle, const Row& row, std::size_t stride = 1)
      : contract_(std::move(contract)), oracle_(oracle), row_(row), sum_(b1(contract_, row, oracle)) {
    const ElementThreshold<UpperBound> element = softmax_error(contract_, row);
    overflows_ = std::isinf(upper(element.constant));
    if (overflows_) return;
    masked_ = upper(element.floor);
    const LinearThreshold<UpperBound> linear = log_softmax_error(contract_, row);
    for (std::size_t i = 0; i < oracle.size(); ++i) {
      if (!oracle.is_visible(i) || (i % stride != 0 && i != oracle.argmax())) continue;
      const Enclosure softmax = oracle.softmax(i), log_softmax = oracle.log_softmax(i);
      const UpperBound deviation = above(oracle.deviation(i));
      const bool finite = deviation.value() * row.theta < overflow_limit(contract_) &&
                          abs(log_softmax).upper_double() < overflow_limit(contract_);
      elements_.push_back({i, softmax, log_softmax, upper(element.at(deviation, UpperBound(softmax.upper_double()))),
                           upper(coefficient_excess(contract_, row, deviation)), upper(linear.at(deviation)), finite});
    }
    variation_ = upper(total_variation_error(contract_, row));
    row_sum_ = upper(row_sum_error(contract_, row).total());
    logsumexp_ = upper(logsumexp_error(contract_, row).total());
    entropy_ = upper(entropy_error(contract_, row).total());
    undershoot_ = upper(entropy_undershoot(contract_, row));
    Contract form = contract_;
    form.lse = LseForm::uncentred;
    for (EntropyForm* of : {&from_logits_, &from_coefficients_}) {
      form.entropy_from = of == &from_logits_ ? EntropyFrom::logits : EntropyFrom::coefficients;
      *of = {form, upper(contracted_entropy_error(form, row).total())};
    }
  }

  /// Everything a simulated kernel returned for the row. A kernel whose sums overflow keeps no contract: of what it
  /// makes of them nothing is asked. Where the accumulator promises nothing, nothing is judged either.
  void judge(const Results& got, BoundShares& shares) const {
    if (std::isinf(got.sum)) return;
    shares.judge("B1", got.sum, oracle_.sum(), sum_);
    if (overflows_) return;
    judge_elements(got, shares);
    const double lse = threshold_of_result(contract_, logsumexp_, got.logsumexp);
    shares.raise("B5", used(got.logsumexp, oracle_.logsumexp(), lse));
    EXPECT_TRUE(holds_or_overflows(contract_.output, got.logsumexp, oracle_.logsumexp(), lse))
        << "B5: " << got.logsumexp;
    if (std::isfinite(got.logsumexp)) {
      judge_result("B7", from_logits_.contract, got.entropy_of_logits, oracle_.entropy(), from_logits_.bound, shares);
      judge_result("B6d", from_coefficients_.contract, got.entropy_of_coefficients, oracle_.entropy(),
                   from_coefficients_.bound, shares);
    }
    if (std::isinf(got.deviations)) return;
    judge_result("B6", contract_, got.entropy, oracle_.entropy(), entropy_, shares);
    EXPECT_GE(got.entropy, -undershoot_) << "the entropy's undershoot";
  }

 private:
  struct Element {
    std::size_t item;
    Enclosure softmax, log_softmax;
    double bound, excess, log_bound;
    bool finite;
  };
  /// An entropy in a form that a contract grants.
  struct EntropyForm {
    Contract contract;
    double bound = 0;
  };

  static void judge_result(std::string_view name, const Contract& contract, double value, const Enclosure& exact,
                           double bound, BoundShares& shares) {
    shares.judge(name, value, exact, threshold_of_result(contract, bound, value));
  }
  /// The coefficients and their logarithms against B2 to B5.
  void judge_elements(const Results& got, BoundShares& shares) const {
    Enclosure total(0), variation(0);
    std::uint64_t zeros = 0;
    for (std::size_t i = 0; i < got.coefficients.size(); ++i) {
      const double value = got.coefficients[i];
      ASSERT_TRUE(std::isfinite(value)) << "B2 of item " << i;
      total += Enclosure(value);
      if (!oracle_.is_visible(i)) {
        ASSERT_LE(value, contract_.least_exp == 0 ? 0 : masked_) << "B2 of a masked item";
      } else if (value == 0) {
        ++zeros;
      }
    }
    for (const Element& of : elements_) {
      // A result in the output's format: one that is not 0 was not flushed.
      const double value = got.coefficients[of.item];
      variation += error_of(value, of.softmax);
      judge_result("B2", contract_, value, of.softmax, of.bound, shares);
      EXPECT_LE(value, 1 + of.excess) << "the excess over 1";
      if (of.finite)
        judge_result("log_softmax", contract_, got.log_softmax[of.item], of.log_softmax, of.log_bound, shares);
    }
    shares.judge("B3", variation, variation_);
    shares.judge("B4", abs(total - 1), threshold_of_sum(contract_, row_sum_, row_.visible, zeros));
  }

  Contract contract_;
  const RowOracle& oracle_;
  Row row_;
  double sum_;
  bool overflows_ = false;
  std::vector<Element> elements_;
  double masked_ = 0, variation_ = 0, row_sum_ = 0, logsumexp_ = 0, entropy_ = 0, undershoot_ = 0;
  EntropyForm from_logits_, from_coefficients_;
};

}  // namespace softcheck::numerics::simulated
