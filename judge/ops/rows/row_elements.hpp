#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include "judge/ops/rows/result_limits.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "numerics/enclosures/decision.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/enclosures/upper_bound.hpp"

namespace softcheck::proptests {

/// Two relative roundings of a long double: the unit of Quick errors.
inline constexpr long double two_roundings = std::numeric_limits<long double>::epsilon();

/// An approximation of a real: |value - real| <= error.
struct Quick {
  long double value;
  long double error;

  /// Decides |got - real| <= threshold; undecided if the error is too large.
  numerics::Decision within(double threshold, double got) const;
};

/// The middle of an enclosure.
Quick quick_of(const numerics::Enclosure& exact);

/// At least the real's magnitude.
numerics::UpperBound size_of(const Quick& quick);

/// An op's values and thresholds for one row.
class RowElements {
 public:
  virtual ~RowElements() = default;

  /// A string literal: "kernel.softmax.element".
  virtual std::string_view claim() const = 0;
  /// An enclosure of element i at the working precision.
  virtual numerics::Enclosure value(std::size_t i) = 0;
  /// A quick approximation of element i; by default the middle of value(i).
  virtual Quick quick(std::size_t i);
  /// The absolute threshold of any result for element i; infinite if the contract promises nothing. threshold_of_result
  /// lowers it for results that are not 0, since those were not flushed.
  virtual double threshold(std::size_t i) = 0;
  /// The magnitude that the threshold must stay below to mean anything: that of the value, or of terms that cancel in
  /// it.
  virtual double metric(std::size_t, double magnitude) { return magnitude; }
  /// Are all answers for element i equal to those for element i - 1, because their inputs are equal? Rows have long
  /// runs of equal items. i >= 1.
  virtual bool repeats(std::size_t) const { return false; }
  /// Is the threshold as wide as the metric, even without what the contract grants for subnormals and overflow?
  virtual bool is_vacuous(std::size_t i, double metric) = 0;
  /// Limits of value i for an infinite or vacuous threshold. judge_elements adds may_overflow.
  virtual ResultLimits limits(std::size_t) { return {}; }
  /// Can an intermediate overflow turn the value into -inf?
  virtual bool overflows(std::size_t) { return false; }
  /// Are the values coefficients: in [0, 1], or above 1 by at most excess(i)?
  virtual bool are_coefficients() const { return false; }
  virtual double excess(std::size_t) { return 0; }

  double resolution = 0;  // smaller values have no relative accuracy under this contract
  bool promised = true;   // does the contract promise anything for this row?
  bool resolved = true;   // does the contract's form keep any accuracy for this row?

 protected:
  RowElements() = default;
};

/// Judges one claim about an output's values in a row: decides all, and reports the worst. Items with a logit of -inf
/// must be op.nothing().
///
/// extent   of the output whose values row.got holds
void judge_elements(const RowOp& op, Extent extent, const JudgedRow& row, RowElements& elements, RowVerdicts& verdicts);

/// The threshold of element i for any result; smaller if the result cannot have been flushed.
double granted(const numerics::Contract& contract, RowElements& elements, std::size_t i);

/// Do the ends, rounded to doubles, lie at most four doubles apart? Callers need no more.
bool is_narrow(const numerics::Enclosure& value);

/// The narrowest enclosure that value() gives at 113, 256 and 512 bits.
///
/// near   the enclosure at 113 bits
numerics::Enclosure refined(const numerics::Enclosure& near, const std::function<numerics::Enclosure()>& value);

/// One oracle per precision of the ladder, constructed on first use.
template <class Oracle>
class OracleLadder {
 public:
  explicit OracleLadder(std::function<Oracle()> make) : make_(std::move(make)) {}
  const Oracle& now() {
    auto found = oracles_.find(numerics::working_precision());
    if (found == oracles_.end()) found = oracles_.emplace(numerics::working_precision(), make_()).first;
    return found->second;
  }

 private:
  std::function<Oracle()> make_;
  std::map<unsigned, Oracle> oracles_;
};

/// Caches the parts of one item of a row: the judge asks for an item's value, threshold and metric in a row, and all
/// use these parts.
template <class Value>
class LastItem {
 public:
  /// make(i), or the cached value if the last item was i.
  template <class Make>
  const Value& of(std::size_t i, const Make& make) {
    if (!value_ || item_ != i) {
      value_.reset();  // make may throw
      value_.emplace(make(i));
      item_ = i;
    }
    return *value_;
  }

 private:
  std::optional<Value> value_;
  std::size_t item_ = 0;
};

}  // namespace softcheck::proptests
