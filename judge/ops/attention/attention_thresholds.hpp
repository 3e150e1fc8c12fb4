#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "judge/ops/attention/attention_judge.hpp"
#include "judge/ops/attention/claim_verdict.hpp"
#include "judge/ops/rows/long_softmax.hpp"
#include "judge/ops/rows/product_sums.hpp"
#include "judge/ops/rows/softmax_bounds.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/oracles/adaptive_oracle.hpp"
#include "numerics/rounding/rounding_attention.hpp"

namespace softcheck::proptests {

/// The entropy that beta depends on, by the contract's word; `any` means the exact one.
numerics::EntropyDefinition definition_of(const numerics::Contract& contract);

/// The range that a kernel's scores, and what they are made of, must keep to: a factor of a query or a key, with the
/// scale or its root, a sum of d products of them, or what is added to a score. At most d + 4 roundings make a sum
/// larger than its terms' magnitudes, and a difference of two is twice as large.
class ScoreRange {
 public:
  ScoreRange(const numerics::Contract& contract, const AttentionRow& row);
  /// dots: no less than sum |q_t k_jt|; size: than the magnitude of the score with all that is added to it; factors:
  /// than any |q_t| and |k_jt|.
  bool may_be_left(std::span<const double> key, double dots, double size, double factors) const;

 private:
  bool is_left(double factor, double dots, double size) const;
  double factor_, scale_, largest_, growth_ = 1;
};

/// The keys that a query sees, and its scores.
struct VisibleKeys {
  std::vector<std::size_t> items;
  std::vector<LongApproximation> scores;
  std::vector<numerics::UpperBound> score_errors;  // e_j of a kernel of the contract; 0 where any kernel is exact
  double largest_dot = 0;                          // max |scale| sum |q_t k_jt|, and the sizes of what is added to it
  // Of a softcap, for each key: its slope, what it is of a tanh, and the error of what that is of, by the softcap.
  struct Cap {
    LongApproximation slope;
    double magnitude = 0;  // |tanh|, at least
    numerics::UpperBound score_error;
  };
  std::vector<Cap> caps;
  bool sink = false;          // the last one is the row's sink, which is no key: its item is n
  bool may_overflow = false;  // a kernel's scores, or what they are made of, may leave the range of their formats

  VisibleKeys(const numerics::Contract& contract, const AttentionRow& row)
      : VisibleKeys(contract, row, digits_for(contract)) {}
  VisibleKeys(const numerics::Contract& contract, const AttentionRow& row, Digits digits);
  std::size_t keys() const { return items.size() - (sink ? 1 : 0); }
  /// No less than the magnitude of a score as computed.
  double largest_computed() const;

 private:
  void add_score(const numerics::Contract& contract, const AttentionRow& row, const ScoreRange& range, std::size_t j);
  void add_sink(const numerics::Contract& contract, const AttentionRow& row);

  Digits digits_;
  numerics::UpperBound query_sum_;  // sum |q_t|
};

/// The keys of the row, and its sink as the contract's order adds it.
std::uint64_t items_of(const numerics::Contract& contract, const AttentionRow& row, const VisibleKeys& keys);

/// How a kernel of the contract computes the row, n items of which these are visible.
numerics::AttentionArithmetic arithmetic_of(const numerics::Contract& contract, const AttentionRow& row,
                                            const VisibleKeys& keys, std::uint64_t n);

/// How often a running maximum may grow over n items of which these are visible.
std::uint64_t rescalings_of(const numerics::Contract& contract, const VisibleKeys& keys, std::size_t n);

/// Exact values and thresholds of one query: B9, with B10 for adaptive attention.
class AttentionThresholds {
 public:
  /// task, row, visible    outlive this; visible: at least one
  AttentionThresholds(const AttentionTask& task, const AttentionRow& row, const VisibleKeys& visible);

  /// False where the scores' errors are too large for any threshold; do not call the other functions then.
  bool usable() const { return threshold_.has_value(); }
  /// Of the output. Its size is sum p |v|: where terms cancel, no kernel keeps the relative accuracy of the result.
  Judgeable column(std::size_t column) const;
  Judgeable logsumexp() const;
  Judgeable entropy() const;
  /// By how much an entropy may lie below 0.
  double entropy_undershoot() const;
  /// Is the sum of the weights' threshold finite?
  bool promises() const { return upper(threshold_->sum_error()) < numerics::infinity; }

 private:
  using Bound = numerics::UpperBound;
  struct Scores {
    numerics::RowStatistics<Bound> statistics;
    ItemBounds items;
    numerics::ScoreRow<Bound> row() const { return {statistics, items.coefficients, items.deviations}; }
  };
  numerics::AttentionThreshold<Bound> threshold_with(numerics::Grants grants) const;
  // Few values need it: those that may be vacuous.
  const numerics::AttentionThreshold<Bound>& without_grants() const;
  // Below it ln S has no relative accuracy.
  double sum_resolution() const;
  void set_thresholds(const AttentionTask& task, const LongSoftmax& plain);
  const ProductSums& outputs() const;
  std::vector<Bound> sizes(std::size_t column) const;  // of the items' values

  const AttentionRow& row_;
  const VisibleKeys& visible_;
  const numerics::Contract& contract_;
  numerics::Format scalars_;
  double cancelled_ = 0;                // below which an entropy has no accuracy, as larger terms cancel in it
  std::optional<LongSoftmax> weights_;  // those that meet the values
  std::optional<Scores> scores_, sharpened_;
  std::optional<numerics::AttentionThreshold<Bound>> threshold_;
  mutable std::optional<numerics::AttentionThreshold<Bound>> without_grants_;
  mutable std::optional<ProductSums> outputs_;  // of every column, once one is asked for
};

}  // namespace softcheck::proptests
