#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/result_limits.hpp"
#include "numerics/enclosures/decision.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {

/// The one value of a row, as its op knows it.
struct RowScalar {
  std::string_view claim;                                            // a literal
  numerics::ScalarThreshold<numerics::UpperBound> threshold, plain;  // plain: without grants
  numerics::Enclosure exact;
  double resolution = 0;  // a smaller value has no relative accuracy
  bool resolved = true;
  ResultLimits limits = {};                                     // looked at where the threshold says nothing
  numerics::Decision decision = numerics::Decision::undecided;  // |got - exact| <= allowed_of(row, threshold)
};

/// What is granted the value that the row has.
double allowed_of(const JudgedRow& row, const numerics::ScalarThreshold<numerics::UpperBound>& threshold);

/// Counts the value and adds the finding of its claim.
void judge_scalar(const JudgedRow& row, const RowScalar& scalar, RowVerdicts& verdicts);

/// What is granted any result for the row.
///
/// near   the value at 113 bits
double granted_scalar(const RowInputs& row, const numerics::ScalarThreshold<numerics::UpperBound>& threshold,
                      const std::function<numerics::Enclosure()>& near);

/// The two ends of the narrowest enclosure of a row's one value.
///
/// near    at 113 bits
/// oracle  the same from a row's oracle, at any precision
void enclose_scalar(const numerics::Enclosure& near, const RowInputs& row,
                    numerics::Enclosure (numerics::RowOracle::*value)() const, std::span<double> lower,
                    std::span<double> upper);

}  // namespace softcheck::proptests
