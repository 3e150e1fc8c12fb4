#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/filter/double_double.hpp"
#include "numerics/filter/row_filter.hpp"
#include "numerics/rows/row_oracle.hpp"

namespace softcheck::numerics {

/// Number of elements that each stage decided, and that none decided.
struct StageCounts {
  std::size_t filter = 0;
  std::size_t double_double = 0;
  std::size_t enclosure = 0;
  std::size_t undecided = 0;

  StageCounts& operator+=(const StageCounts& other);
};

/// The verdict on every element of a row.
struct RowJudgement {
  std::size_t size = 0;
  StageCounts counts;
  std::vector<std::size_t> violated;   // ascending
  std::vector<std::size_t> undecided;  // ascending; empty unless 512 bits could not decide

  /// Verdict on element i < size.
  Decision element(std::size_t i) const;
  /// The row's verdict: violated if an element is, else undecided if one is, else proved.
  Decision row() const;
};

/// Judges a kernel's results for one row of logits: by a double filter with an a-priori bound, then double-double
/// arithmetic, then enclosures at 113, 256 and 512 bits. A stage decides an element only if its bound leaves no doubt,
/// and passes the others on; so the bounds affect the time but never the verdict.
///
/// Later stages are prepared on first use and kept, so judging several outputs of one row costs one preparation.
class RowCascade {
 public:
  /// logits   (n) finite or -inf (masked), n <= 2^30; not copied: must outlive the cascade
  /// theta    in [2^-1000, 2^1000]
  /// throws   std::invalid_argument as filter_row
  explicit RowCascade(std::span<const float> logits, double theta = 1);
  explicit RowCascade(std::span<const double> logits, double theta = 1);

  std::size_t size() const { return filter_.size; }
  /// No item is visible: the softmax is undefined, and the functions below throw std::invalid_argument.
  bool fully_masked() const { return filter_.visible == 0; }
  const FilterStatistics& statistics() const { return filter_; }
  const DoubleDoubleStatistics& double_double_statistics();

  /// |got_j - softmax(logits / theta)_j| <= tolerance_j for every j; a NaN or infinity is violated, a masked item is 0.
  ///
  /// got      (n) the kernel's exact values
  RowJudgement judge_softmax(std::span<const float> got, const ElementTolerance& tolerance);
  RowJudgement judge_softmax(std::span<const double> got, const ElementTolerance& tolerance);

  /// The filter's value with its certified absolute error, which is infinite if the value exceeds the doubles.
  Approximation logsumexp() const;  // of logits / theta
  Approximation entropy() const;    // nats
  Approximation mean_deviation() const;
  Approximation mean_square_deviation() const;

  /// |got - value| <= tolerance, by the filter and then by enclosures; a NaN or infinity is violated.
  Decision judge_logsumexp(double got, double tolerance);
  Decision judge_entropy(double got, double tolerance);

 private:
  std::span<const double> wide_logits();
  const RowOracle& oracle(std::size_t rung);
  template <class Got>
  RowJudgement judge(std::span<const Got> got, const ElementTolerance& tolerance);
  RowJudgement finish(const StageOutcome& filtered, std::span<const double> got, const ElementTolerance& tolerance);
  void escalate_elements(std::vector<std::size_t> open, std::span<const double> got, const ElementTolerance& tolerance,
                         RowJudgement& judgement);
  template <class Value>
  Decision judge_scalar(double got, double tolerance, const Approximation& first, Value&& value);

  std::span<const float> narrow_;
  std::span<const double> wide_;
  std::vector<double> widened_;
  FilterStatistics filter_;
  std::optional<DoubleDoubleStatistics> double_double_;
  std::array<std::optional<RowOracle>, 3> oracles_;
};

/// |sum of the kernel's values - 1| <= tolerance; a NaN or infinity among them is violated.
Decision judge_row_sum(std::span<const float> got, double tolerance);
Decision judge_row_sum(std::span<const double> got, double tolerance);

}  // namespace softcheck::numerics
