#pragma once

#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <utility>

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
  /// The logits of an item.
  struct Pair {
    double w, v;
  };
  /// Does a positive weight meet a coefficient of 0? Unknown if it may underflow in a kernel, or a row has no finite
  /// logit.
  enum class Kind { finite, infinite, unknown };
  static Kind kind_of(const RowInputs& row);

  /// row   of this kind: finite. Its inputs must outlive this object
  explicit DivergenceTerms(const RowInputs& row);

  bool reverse() const { return reverse_; }
  Pair pair(std::size_t j) const { return {logits_[j], others_[j]}; }
  bool repeats(std::size_t j) const { return logits_[j] == logits_[j - 1] && others_[j] == others_[j - 1]; }
  Quick weight(const Pair& pair) const { return weighing_.coefficient(pair.w); }
  Quick other(const Pair& pair) const { return other_.coefficient(pair.v); }
  /// ln w - ln v.
  Quick ratio(const Pair& pair) const;

  numerics::DivergenceItem<numerics::UpperBound> item(const Pair& pair) const;
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

  const RowInputs row_;
  bool reverse_;
  std::span<const double> logits_, others_;
  DistributionTerms weighing_, other_;
  // The items with a weight: long rows have few different ones.
  std::map<std::pair<double, double>, std::size_t> times_;
  double largest_ = 0;
};

Quick product(const Quick& a, const Quick& b);
Quick sum(const Quick& a, const Quick& b);
/// At least the magnitude.
numerics::UpperBound at_most(const Quick& quick);

}  // namespace softcheck::proptests
