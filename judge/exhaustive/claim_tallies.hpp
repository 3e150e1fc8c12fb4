#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "judge/exhaustive/enumerated_row.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "judge/verdict/value_tally.hpp"

namespace softcheck::proptests {

/// The results of all rows, by claim.
class ClaimTallies {
 public:
  explicit ClaimTallies(const KernelSubject& subject) : subject_(subject) {}

  /// Adds rows that the quick test proved.
  ///
  /// shares   per claim of the op, an upper bound of the share of a threshold that any of these rows used
  void add_proved(std::uint64_t rows, std::span<const double> shares);
  /// Adds rows that must be NaN and are.
  void add_nan_rows(std::uint64_t rows);
  /// Adds the errors of one claim of the op.
  ///
  /// worst    the case of the row with the largest error
  void add_errors(std::size_t claim, const QuickFindings& found, const std::function<std::string()>& worst);
  /// Adds a row that was judged by enclosures; `counted` is false if it was added before as proved.
  ///
  /// returns  the finding that used most of its threshold: claim, share and item
  struct Worst {
    std::string_view claim;
    double share = 0;
    std::optional<std::size_t> item = {};
  };
  Worst add(const EnumeratedRow& row, RowOpinion opinion, bool counted);

  /// The first row that breaks a claim, or that 512 bits cannot decide.
  struct Failure {
    std::string case_text;
    std::size_t size = 0;
    bool special = false;
    Certificates failed;
  };
  const std::optional<Failure>& failure() const { return failure_; }

  /// The sums as long as nothing failed.
  struct Sums {
    std::map<std::string, ClaimSummary> claims;
    std::map<std::string, ErrorStatistics> errors;
    VacuityCount vacuity;
    std::set<std::string> notes;
  };
  const Sums& sums() const { return sums_; }
  /// Continues from the sums of rows that need not be added again.
  void restore(Sums sums) { sums_ = std::move(sums); }

 private:
  numerics::Format format_of(std::string_view claim) const;
  void fail(const EnumeratedRow& row, const ValueFinding& finding, bool special);

  const KernelSubject& subject_;
  Sums sums_;
  std::optional<Failure> failure_;
};

}  // namespace softcheck::proptests
