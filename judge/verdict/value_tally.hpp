#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "judge/verdict/value_certificate.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::proptests {

/// Adds the errors of one row to those of its claim.
///
/// share     of the threshold that was used
/// witness   names the call and the row; asked for only where an error is the largest yet
void add_errors(ErrorStatistics& errors, const ErrorSums& of_row, double share,
                const std::function<std::string()>& witness);

/// The same errors as a report tells them: in ulps of the format that format_of_ulps names, of which those of the
/// contract's output are a power of two.
ErrorStatistics in_reported_ulps(ErrorStatistics errors, const numerics::Contract& contract);

/// The errors of each claim on values, over all calls of a trial.
class ErrorTally {
 public:
  /// witness   names the call and the row; asked for only where an error is the largest yet
  void add(const ValueFinding& finding, const std::function<std::string()>& witness);
  const std::map<std::string, ErrorStatistics>& errors() const { return errors_; }

 private:
  std::map<std::string, ErrorStatistics> errors_;
};

/// Of the findings of one call the worst of each claim: what becomes a certificate.
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
