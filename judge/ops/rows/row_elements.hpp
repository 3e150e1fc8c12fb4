#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string_view>

#include "judge/ops/rows/result_limits.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "numerics/enclosures/decision.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/enclosures/upper_bound.hpp"

namespace softcheck::proptests {

/// Two roundings of a long double, relative: what a quick value's error is counted in.
inline constexpr long double two_roundings = std::numeric_limits<long double>::epsilon();

/// A real and a bound on its distance from value.
struct Quick {
  long double value;
  long double error;

  /// |got - real| <= threshold, where that can be told.
  numerics::Decision within(double threshold, double got) const;
};

/// The middle of an enclosure.
Quick quick_of(const numerics::Enclosure& exact);

/// No less than the real's magnitude.
numerics::UpperBound size_of(const Quick& quick);

/// What an op says of one row: each value exactly, and what the contract grants it.
class RowElements {
 public:
  virtual ~RowElements() = default;

  /// A literal: "kernel.softmax.element".
  virtual std::string_view claim() const = 0;
  /// The value of element i at the working precision.
  virtual numerics::Enclosure value(std::size_t i) = 0;
  /// Nearly the value, quickly. By default the middle of value(i).
  virtual Quick quick(std::size_t i);
  /// What the contract grants any result: absolute; infinite where it promises nothing. One that is not 0 was not
  /// flushed (threshold_of_result).
  virtual double threshold(std::size_t i) = 0;
  /// What value i is compared with to see whether its threshold says anything: its own magnitude, or that of terms
  /// which cancel in it.
  virtual double metric(std::size_t, double magnitude) { return magnitude; }
  /// Is all that is said of element i what is said of element i - 1, because all that it depends on is equal? Rows have
  /// long runs of equal items. i >= 1.
  virtual bool repeats(std::size_t) const { return false; }
  /// Is the threshold, without what the contract grants for subnormals and overflow, as wide as the metric?
  virtual bool is_vacuous(std::size_t i, double metric) = 0;
  /// What value i keeps where its threshold is infinite or vacuous. may_overflow is added by judge_elements.
  virtual ResultLimits limits(std::size_t) { return {}; }
  /// May it come out as -inf, because something overflows before the value does?
  virtual bool overflows(std::size_t) { return false; }
  /// Are they coefficients, in [0, 1] but for the excess beyond 1 that element i may have?
  virtual bool are_coefficients() const { return false; }
  virtual double excess(std::size_t) { return 0; }

  double resolution = 0;  // smaller values have no relative accuracy under this contract
  bool promised = true;   // is anything said of this row at all?
  bool resolved = true;   // does the row hold anything that the contract's form keeps?

 protected:
  RowElements() = default;
};

/// A claim over the values of an output's row: all decided, the worst one shown. Those of items whose logit is -inf
/// must be op.nothing().
///
/// extent   of the output that row.got has the values of
void judge_elements(const RowOp& op, Extent extent, const JudgedRow& row, RowElements& elements, RowVerdicts& verdicts);

/// What the contract grants any result for element i: of one that cannot have been flushed less than its threshold.
double granted(const numerics::Contract& contract, RowElements& elements, std::size_t i);

/// Are the ends, rounded to doubles, at most four doubles apart? As good as a caller can ask for.
bool is_narrow(const numerics::Enclosure& value);

/// The narrowest enclosure that value() gives at 113, 256 and 512 bits.
///
/// near   at 113 bits
numerics::Enclosure refined(const numerics::Enclosure& near, const std::function<numerics::Enclosure()>& value);

/// One oracle for each precision of the ladder, made when first asked for.
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

}  // namespace softcheck::proptests
