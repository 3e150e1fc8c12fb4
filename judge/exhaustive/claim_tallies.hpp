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
#include <vector>

#include "judge/exhaustive/enumerated_row.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "judge/verdict/value_tally.hpp"

namespace softcheck::proptests {

/// What all rows together come to, claim by claim.
class ClaimTallies {
 public:
  explicit ClaimTallies(const KernelSubject& subject) : subject_(subject) {}

  /// Rows that the quick test proved.
  ///
  /// shares   no less than the part of its threshold that any of them used, for each of the op's first claims
  void add_proved(std::uint64_t rows, std::span<const double> shares);
  /// Rows that are NaN as they are to be.
  void add_nan_rows(std::uint64_t rows);
  /// Errors of one of the op's claims.
  ///
  /// worst    the case of the row with the largest
  void add_errors(std::size_t claim, const QuickFindings& found, const std::function<std::string()>& worst);
  /// A row that was judged by enclosures; counted unless it was proved before.
  ///
  /// returns  the claim and the share of the finding that used most of its threshold
  struct Worst {
    std::string_view claim;
    double share = 0;
    std::optional<std::size_t> item = {};
  };
  Worst add(const EnumeratedRow& row, RowOpinion opinion, bool counted);

  /// A row that breaks a claim, or that 512 bits cannot decide: the first.
  struct Failure {
    std::string case_text;
    std::size_t size = 0;
    bool special = false;
    Certificates failed;
  };
  const std::optional<Failure>& failure() const { return failure_; }

  /// What there is while nothing has failed.
  struct Sums {
    std::map<std::string, ClaimSummary> claims;
    std::map<std::string, ErrorStatistics> errors;
    VacuityCount vacuity;
    std::set<std::string> notes;
  };
  const Sums& sums() const { return sums_; }
  /// Goes on from sums of rows that need not be added again.
  void restore(Sums sums) { sums_ = std::move(sums); }

 private:
  numerics::Format format_of(std::string_view claim) const;
  void fail(const EnumeratedRow& row, const ValueFinding& finding, bool special);

  const KernelSubject& subject_;
  Sums sums_;
  std::optional<Failure> failure_;
};

}  // namespace softcheck::proptests
