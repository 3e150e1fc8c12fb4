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

/// The one value of a row, its threshold and its verdict.
struct RowScalar {
  std::string_view claim;                                            // a string literal
  numerics::ScalarThreshold<numerics::UpperBound> threshold, plain;  // plain: without grants
  numerics::Enclosure exact;
  double resolution = 0;  // smaller values have no relative accuracy
  bool resolved = true;
  ResultLimits limits = {};                                     // used if the threshold says nothing
  numerics::Decision decision = numerics::Decision::undecided;  // |got - exact| <= allowed_of(row, threshold)
};

/// The threshold for the row's result.
double allowed_of(const JudgedRow& row, const numerics::ScalarThreshold<numerics::UpperBound>& threshold);

/// Counts the value and adds its claim's finding.
void judge_scalar(const JudgedRow& row, const RowScalar& scalar, RowVerdicts& verdicts);

/// The threshold for any result of the row.
///
/// near   the value at 113 bits
double granted_scalar(const RowInputs& row, const numerics::ScalarThreshold<numerics::UpperBound>& threshold,
                      const std::function<numerics::Enclosure()>& near);

/// Writes the ends of the narrowest enclosure of a row's one value.
///
/// near    at 113 bits
/// value   the same from a row's oracle, at any precision
void enclose_scalar(const numerics::Enclosure& near, const RowInputs& row,
                    numerics::Enclosure (numerics::RowOracle::*value)() const, std::span<double> lower,
                    std::span<double> upper);

}  // namespace softcheck::proptests
