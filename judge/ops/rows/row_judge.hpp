#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "judge/op/op.hpp"
#include "judge/verdict/counted_weights.hpp"
#include "judge/verdict/value_certificate.hpp"
#include "numerics/enclosures/certificate.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// The findings about one row.
struct RowVerdicts {
  std::vector<ValueFinding> findings;  // one per claim
  VacuityCount vacuity;                // thresholds that are too wide to test anything
};

/// Judges a kernel's results for one row of logits by the thresholds of its contract (numerics/rounding/rounding.hpp,
/// B2, B4, B5, B6, B10). Returns one finding per claim, for the element that used most of its threshold.
///
/// Claims: the op's own (OpTraits::claims), and kernel.masked_row for a fully masked row.
///
/// op         a row op
/// logits     (n) finite or -inf
/// got        (n), or (1) for ops with one value per row
/// auxiliary  values of the op's other inputs: (n) or (1) each
/// counted    for ops of whole calls: RowInputs::counted
RowVerdicts judge_values(Op op, const numerics::Contract& contract, std::span<const double> logits, double theta,
                         std::span<const double> got, std::span<const std::vector<double>> auxiliary = {},
                         const Attributes& attributes = {}, const CountedWeights& counted = {});

/// The same for a row with +inf among its logits: every value must be NaN or the limit, in which the items of +inf
/// share all weight.
///
/// logits   (n) at least one +inf, no NaN
RowVerdicts judge_limit(Op op, const numerics::Contract& contract, std::span<const double> logits, double theta,
                        std::span<const double> got);

/// The exact values of a row: one per element, or one for the row.
///
/// logits   (n) at least one finite, no NaN; with +inf the limit
/// error    at most four doubles, except for values that cancel beyond 512 bits
void exact_row(Op op, const numerics::Contract& contract, std::span<const double> logits, double theta,
               std::span<double> lower, std::span<double> upper, std::span<const std::vector<double>> auxiliary = {},
               const Attributes& attributes = {}, const CountedWeights& counted = {});

/// The values that masked= requires of a fully masked row of n items. Ids may be any items'; these are the lowest.
void exact_masked_row(Op op, const numerics::Contract& contract, std::size_t n, std::span<double> lower,
                      std::span<double> upper, const Attributes& attributes = {});

/// The threshold of each value of a row: 0 if it must be exact, infinite if nothing is promised.
///
/// logits   as for exact_row
void granted_row(Op op, const numerics::Contract& contract, std::span<const double> logits, double theta,
                 std::span<double> allowed, std::span<const std::vector<double>> auxiliary = {},
                 const Attributes& attributes = {}, const CountedWeights& counted = {});

struct RowFindings {
  std::vector<numerics::Certificate> certificates;
  VacuityCount vacuity;
};

/// judge_values with its findings as certificates.
///
/// witness  text that replays the row
RowFindings judge_row(Op op, const numerics::Contract& contract, std::span<const double> logits, double theta,
                      std::span<const double> got, const std::string& witness);

/// The verdicts on the rows of one call. Rows with bitwise equal inputs and results share one verdict.
class RowVerdictCache {
 public:
  /// inputs   of the row, the logits first
  /// judge    called if no such row was judged before
  /// returns  the verdicts, valid until the next call
  const RowVerdicts& verdicts(std::span<const std::vector<double>> inputs, std::span<const double> got,
                              const std::function<RowVerdicts()>& judge);

 private:
  std::unordered_map<std::string, RowVerdicts> known_;  // key: the bytes of inputs and results
  std::size_t bytes_ = 0;
  RowVerdicts last_;
};

}  // namespace softcheck::proptests
