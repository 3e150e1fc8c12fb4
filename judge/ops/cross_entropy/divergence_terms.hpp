#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/oracles/divergence.hpp"
#include "numerics/rounding/rounding_divergence.hpp"

namespace softcheck::proptests {

/// One distribution of a row, softmax(logits / theta), in long double with certified errors.
class DistributionTerms {
 public:
  DistributionTerms(const RowInputs& row, std::span<const double> logits);

  long double deviation(double x) const { return x == -numerics::infinity ? 0 : (maximum_ - x) / theta_; }
  /// -ln p of a visible item: terms of one sign.
  Quick negative_log(double x) const;
  Quick coefficient(double x) const;

  Statistics statistics;

 private:
  long double theta_, maximum_ = 0;
  Quick log_sum_{0, 0};
};

/// The divergence of a row of logits and its teacher's (B22): w is the distribution that weighs the terms, v the other
/// one.
class DivergenceTerms {
 public:
  /// All items with the same two logits.
  struct Item {
    bool hidden;            // the logit of w is -inf
    std::size_t times = 0;  // how many there are
    Quick weight, other;    // w, v
    Quick ratio{0, 0};      // ln w - ln v, if both logits are finite
    numerics::DivergenceItem<numerics::UpperBound> bounds;
  };
  /// Infinity if a positive weight meets a coefficient of 0; nothing if that weight may underflow in a kernel, or if a
  /// row has no finite logit.
  static RowOp::Due hidden_due(const RowInputs& row);

  /// row   with values due. Its inputs must outlive this object
  explicit DivergenceTerms(const RowInputs& row);

  bool reverse() const { return reverse_; }
  const Item& item(std::size_t j) const { return items_[item_of_[j]]; }
  bool repeats(std::size_t j) const { return item_of_[j] == item_of_[j - 1]; }

  numerics::DivergenceThreshold<numerics::UpperBound> threshold(numerics::Grants grants) const;
  numerics::DivergenceOracle oracle() const { return {row_.logits, row_.auxiliary[0], row_.theta, reverse_}; }

  /// Below this, differences of logarithms have no relative accuracy.
  double resolution() const;
  bool resolved() const;
  /// The largest number that a kernel may compute: a difference may be divided by theta only later.
  double largest() const { return largest_ * std::fmax(1, row_.theta); }

  Quick value{0, 0};       // the divergence
  long double metric = 0;  // sum w (|ln w| + |ln v|): what cancels in it

 private:
  bool cancels() const { return !row_.contract.has_centred_lse(); }
  Item item(double w, double v) const;

  const RowInputs row_;
  bool reverse_;
  std::span<const double> logits_, others_;
  DistributionTerms weighing_, other_;
  std::vector<Item> items_;
  std::vector<std::size_t> item_of_;  // of each j: long rows have few different ones
  double largest_ = 0;
};

Quick product(const Quick& a, const Quick& b);
Quick sum(const Quick& a, const Quick& b);
/// At least the magnitude.
numerics::UpperBound at_most(const Quick& quick);

}  // namespace softcheck::proptests
