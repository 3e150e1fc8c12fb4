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

/// The definition of entropy that beta uses, by the contract's word; `any` means the exact one.
numerics::EntropyDefinition definition_of(const numerics::Contract& contract);

/// An approximation times an exact number.
LongApproximation times(const LongApproximation& x, double factor);

/// The weight of a kept key times the dropout's scale: one more rounding, in the format of the weights.
ProductSums::Factor kept_weight(const numerics::Contract& contract, double dropout_scale,
                                const ProductSums::Factor& weight);

/// Checks whether a kernel's scores and their intermediate numbers stay in the range of their formats: a factor of a
/// query or key, times the scale or its root, a sum of d products, or what is added to a score. At most d + 4 roundings
/// enlarge a sum beyond its terms' magnitudes, and a difference of two sums is twice as large.
class ScoreRange {
 public:
  ScoreRange(const numerics::Contract& contract, const AttentionRow& row);
  /// dots: upper bound of sum |q_t k_jt|; size: of the score's magnitude including all added terms; factors: of every
  /// |q_t| and |k_jt|.
  bool may_be_left(std::span<const double> key, double dots, double size, double factors) const;

 private:
  bool is_left(double factor, double dots, double size) const;
  double factor_, scale_, largest_, growth_ = 1;
};

/// The keys that a query sees, and their scores.
struct VisibleKeys {
  std::vector<std::size_t> items;
  std::vector<LongApproximation> scores;
  std::vector<numerics::UpperBound> score_errors;  // error e_j of a contract's kernel; 0 if every kernel is exact
  double largest_dot = 0;                          // max |scale| sum |q_t k_jt|, plus the magnitudes of the added terms
  // With a softcap, per key: the cap's slope, |tanh|, and the error of the score before the cap in units of the cap.
  struct Cap {
    LongApproximation slope;
    double magnitude = 0;  // an upper bound of |tanh|
    numerics::UpperBound score_error;
  };
  std::vector<Cap> caps;
  bool sink = false;          // the last item is the row's sink and not a key; its index is n
  bool may_overflow = false;  // a kernel's scores or their intermediate numbers may leave the range of their formats

  VisibleKeys(const numerics::Contract& contract, const AttentionRow& row)
      : VisibleKeys(contract, row, digits_for(contract)) {}
  VisibleKeys(const numerics::Contract& contract, const AttentionRow& row, Digits digits);
  std::size_t keys() const { return items.size() - (sink ? 1 : 0); }
  /// An upper bound of the magnitude of a computed score.
  double largest_computed() const;

 private:
  void add_score(const numerics::Contract& contract, const AttentionRow& row, const ScoreRange& range, std::size_t j);
  void add_sink(const numerics::Contract& contract, const AttentionRow& row);

  Digits digits_;
  numerics::UpperBound query_sum_;  // sum |q_t|
};

/// Number of the row's items: its keys, and its sink as the contract's order adds it.
std::uint64_t items_of(const numerics::Contract& contract, const AttentionRow& row, const VisibleKeys& keys);

/// The arithmetic of a kernel of the contract for the row, n items of which these are visible.
numerics::AttentionArithmetic arithmetic_of(const numerics::Contract& contract, const AttentionRow& row,
                                            const VisibleKeys& keys, std::uint64_t n);

/// How often a running maximum may increase over n items of which these are visible.
std::uint64_t rescalings_of(const numerics::Contract& contract, const VisibleKeys& keys, std::size_t n);

/// Exact values and thresholds of one query: B9, with B10 for adaptive attention.
class AttentionThresholds {
 public:
  /// task, row and visible must outlive this object; at least one key is visible
  AttentionThresholds(const AttentionTask& task, const AttentionRow& row, const VisibleKeys& visible);

  /// False if the scores' errors are too large for any threshold; then do not call the other functions.
  bool usable() const { return threshold_.has_value(); }
  /// A column of the output. Its magnitude is sum p |v|: if terms cancel, no kernel keeps a relative accuracy of the
  /// result.
  Judgeable column(std::size_t column) const;
  Judgeable logsumexp() const;
  Judgeable entropy() const;
  /// How far an entropy may lie below 0.
  double entropy_undershoot() const;
  /// Is the threshold of the weights' sum finite?
  bool promises() const { return upper(threshold_->sum_error()) < numerics::infinity; }

 private:
  using Bound = numerics::UpperBound;
  struct Scores {
    numerics::RowStatistics<Bound> statistics;
    ItemBounds items;
    numerics::ScoreRow<Bound> row() const { return {statistics, items.coefficients, items.deviations}; }
  };
  numerics::AttentionThreshold<Bound> threshold_with(numerics::Grants grants) const;
  // Computed on demand: only values that may be vacuous need it.
  const numerics::AttentionThreshold<Bound>& without_grants() const;
  // Below this, ln S has no relative accuracy.
  double sum_resolution() const;
  void set_thresholds(const AttentionTask& task, const LongSoftmax& plain);
  const ProductSums& outputs() const;
  std::vector<Bound> sizes(std::size_t column) const;  // magnitudes of the items' values

  const AttentionRow& row_;
  const VisibleKeys& visible_;
  const numerics::Contract& contract_;
  numerics::Format scalars_;
  double cancelled_ = 0;                // below this an entropy has no accuracy, because larger terms cancel in it
  std::optional<LongSoftmax> weights_;  // the weights that multiply the values
  std::optional<Scores> scores_, sharpened_;
  std::optional<numerics::AttentionThreshold<Bound>> threshold_;
  mutable std::optional<numerics::AttentionThreshold<Bound>> without_grants_;
  mutable std::optional<ProductSums> outputs_;  // for all columns; computed on first use
};

}  // namespace softcheck::proptests
