#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/oracles/cross_entropy.hpp"

namespace softcheck::proptests {

/// The terms of a row's loss and its gradient, in long double with certified errors. x are logits / theta, or c
/// tanh(logits / c) with a softcap c; m is their maximum, L = m + ln S, w the class weights (1 without them), W their
/// mean, s the label smoothing, y the label.
class LossTerms {
 public:
  /// row       logits finite, or -inf for a hidden class, which no term of the loss has; auxiliary[0] is its label, a
  ///           class. Inputs and contract must outlive this object
  /// weights   (V) finite, >= 0, or empty
  LossTerms(const RowInputs& row, std::span<const double> weights) : LossTerms(row, weights, label_of(row), {}) {}
  /// For targets, which are the row's auxiliary[0]: s = 1, the weights are the targets, and means are sums.
  struct Soft {};
  LossTerms(const RowInputs& row, Soft)
      : LossTerms(row, row.auxiliary[0], first_visible(row), {.label_smoothing = 1, .summed = true}) {}

  const numerics::CrossEntropyOptions& options() const { return options_; }
  const Statistics& statistics() const { return statistics_; }  // of x
  std::size_t label() const { return label_; }
  std::size_t size() const { return logits_.size(); }
  bool is_smoothed() const { return options_.label_smoothing > 0; }
  /// Has class i a logit of -inf, and so a coefficient of 0?
  bool is_hidden(std::size_t i) const { return logits_[i] == -numerics::infinity; }
  double weight(std::size_t i) const { return weights_.empty() ? 1 : weights_[i]; }
  /// Do items i - 1 and i have equal logits and weights, and is neither the label?
  bool repeats(std::size_t i) const {
    return logits_[i] == logits_[i - 1] && i != label_ && i - 1 != label_ && weight(i) == weight(i - 1);
  }

  /// m - x_i of a visible class; errs by two roundings and deviation_error().
  long double deviation(std::size_t i) const;
  /// Error of a difference of two capped logits; 0 without a cap.
  long double deviation_error() const { return 2 * cap_error_; }
  /// L - x_i = ln S + m - x_i, a sum of terms of one sign.
  long double negative_log(std::size_t i) const { return log_sum_.value + deviation(i); }
  long double logsumexp() const { return maximum_ + log_sum_.value; }
  long double logsumexp_error() const;

  /// (1 - s) w_y (L - x_y) + s mean(w (L - x))
  Quick smoothed() const;
  /// (1 - s) w_y + s W; all terms are positive, so its relative error is at most sum_error().
  long double total_weight() const;
  long double sum_error() const;
  /// (1 - s) w_j [j = y] + (s / V) w_j, with a few roundings.
  long double subtrahend(std::size_t j) const;
  /// Relative error of e^-negative_log(i).
  long double coefficient_error(std::size_t i) const;
  /// 1 - tanh^2 and tanh^2 of logit i over the cap; 1 and 0 without a cap.
  struct Slope {
    long double value = 1, square = 0, error = 0;  // error: of each
  };
  Slope slope(std::size_t i) const;

  numerics::CrossEntropyRow<numerics::UpperBound> bounded() const;

  /// The largest number that a kernel of the loss may compute: m - x_y, a sum over the classes, L^2.
  double largest_of_loss() const;
  /// The same for the gradient: 2 L.
  double largest_of_gradient() const;

  numerics::CrossEntropyOracle oracle() const { return {logits_, label_, options_, weights_}; }

  /// An upper bound of a number that is known with a relative error of n 2^-62.
  numerics::UpperBound at_most(long double value) const;

 private:
  // Of targets, whose loss has no term of its own for a label.
  static std::size_t first_visible(const RowInputs& row);
  static std::size_t label_of(const RowInputs& row) { return static_cast<std::size_t>(row.auxiliary[0][0]); }
  /// options   adds to those of the row's attributes
  LossTerms(const RowInputs& row, std::span<const double> weights, std::size_t label,
            const numerics::CrossEntropyOptions& options);
  // V, or 1 for sums.
  long double classes() const { return options_.summed ? 1 : static_cast<long double>(size()); }
  void take_plain(const numerics::Contract& contract);
  void take_capped(const numerics::Contract& contract);
  // The means of the weights, of w (m - x) and of w |x|.
  void take_means();

  std::span<const double> logits_;
  std::span<const double> weights_;
  std::size_t label_;
  numerics::CrossEntropyOptions options_;
  std::vector<long double> capped_;  // x with a softcap
  long double cap_error_ = 0;        // of each capped logit
  Statistics statistics_;
  double largest_logit_ = 0;  // without a softcap
  long double maximum_ = 0;
  Quick log_sum_{0, 0};
  long double mean_weight_ = 1, mean_deviation_ = 0, mean_magnitude_ = 0;
  long double largest_deviation_ = 0;  // over the weighted items; 0 if only the label counts
};

}  // namespace softcheck::proptests
