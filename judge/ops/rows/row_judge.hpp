#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "judge/op/op.hpp"
#include "judge/verdict/counted_weights.hpp"
#include "judge/verdict/value_certificate.hpp"
#include "numerics/enclosures/certificate.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// The findings about one row.
struct RowVerdicts {
  std::vector<ValueFinding> findings;  // one for each claim
  VacuityCount vacuity;                // whether the thresholds said anything
};

/// Judges a kernel's results for one row of logits by the thresholds of its contract (numerics/rounding/rounding.hpp,
/// B2, B4, B5, B6, B10): for each claim one finding, of the element that used most of its threshold.
///
/// Claims: the op's own (OpTraits::claims), and kernel.masked_row for a fully masked row.
///
/// op       one of rows
/// logits   (n) finite or -inf
/// got      (n), or (1) for the row scalars
/// beside   values of the op's other inputs: (n) or (1) each
/// counted  of an op of whole calls: RowInputs::counted
RowVerdicts judge_values(Op op, const numerics::Contract& contract, std::span<const double> logits, double theta,
                         std::span<const double> got, std::span<const std::vector<double>> auxiliary = {},
                         const Attributes& attributes = {}, const CountedWeights& counted = {});

/// The same for a row with +inf among its logits: every value is NaN or the limit, which gives those items all weight.
///
/// logits   (n) at least one +inf, no NaN
RowVerdicts judge_limit(Op op, const numerics::Contract& contract, std::span<const double> logits, double theta,
                        std::span<const double> got);

/// The exact values of the op for one row of logits, one for each element or one for the row.
///
/// logits   (n) at least one finite, no NaN; or +inf, whose limit it is then
/// error    at most four doubles, but for values that cancel beyond 512 bits
void exact_row(Op op, const numerics::Contract& contract, std::span<const double> logits, double theta,
               std::span<double> lower, std::span<double> upper, std::span<const std::vector<double>> auxiliary = {},
               const Attributes& attributes = {}, const CountedWeights& counted = {});

/// What stands in place of them for a row of n items with nothing visible, as masked= says. Of ids, which may be any
/// items', the lowest ones.
void exact_masked_row(Op op, const numerics::Contract& contract, std::size_t n, std::span<double> lower,
                      std::span<double> upper, const Attributes& attributes = {});

/// What the contract grants each value of a row: 0 where it must be exact, infinite where nothing is promised.
///
/// logits   as for exact_row
void granted_row(Op op, const numerics::Contract& contract, std::span<const double> logits, double theta,
                 std::span<double> allowed, std::span<const std::vector<double>> auxiliary = {},
                 const Attributes& attributes = {}, const CountedWeights& counted = {});

struct RowFindings {
  std::vector<numerics::Certificate> certificates;
  VacuityCount vacuity;
};

/// judge_values with its findings written out.
///
/// witness  text that replays the row
RowFindings judge_row(Op op, const numerics::Contract& contract, std::span<const double> logits, double theta,
                      std::span<const double> got, const std::string& witness);

}  // namespace softcheck::proptests
