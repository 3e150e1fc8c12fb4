#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "judge/verdict/value_certificate.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::proptests {

/// Adds the errors of one row to the errors of its claim.
///
/// share     used share of the threshold
/// witness   names the call and the row; called only if an error is the largest so far
void add_errors(ErrorStatistics& errors, const ErrorSums& of_row, double share,
                const std::function<std::string()>& witness);

/// Converts the errors to the unit of reports, ulps of format_of_ulps. The factor from ulps of the contract's output is
/// a power of two.
ErrorStatistics in_reported_ulps(ErrorStatistics errors, const numerics::Contract& contract);

/// Errors per claim on values, over all calls of a trial.
class ErrorTally {
 public:
  /// witness   names the call and the row; called only if an error is the largest so far
  void add(const ValueFinding& finding, const std::function<std::string()>& witness);
  const std::map<std::string, ErrorStatistics>& errors() const { return errors_; }

 private:
  std::map<std::string, ErrorStatistics> errors_;
};

/// The worst finding of each claim in one call; each becomes a certificate.
class WorstFindings {
 public:
  void add(ValueFinding finding, std::size_t row);
  struct Worst {
    ValueFinding finding;
    std::size_t row;
    double share;
  };
  const std::map<std::string_view, Worst>& by_claim() const { return worst_; }

 private:
  std::map<std::string_view, Worst> worst_;
};

}  // namespace softcheck::proptests
