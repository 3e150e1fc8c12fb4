#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "proptests/exhaustive/enumerated_kernel.hpp"
#include "proptests/judge/verdict/row_judge.hpp"
#include "proptests/judge/verdict/value_tally.hpp"

namespace softcheck::proptests {

/// A row as a kernel got it and what it made of it.
struct EnumeratedRow {
  std::span<const std::byte> bytes;
  std::span<const double> logits, got;
  double theta = 1;
};

/// What the judge of rows says of one: enclosures end every verdict.
struct RowOpinion {
  std::vector<ValueFinding> findings;
  VacuityCount vacuity;
  bool special = false;  // a NaN or +inf among its logits
};

/// Has the row a NaN, and is every value of it NaN?
bool is_nan_as_due(const EnumeratedRow& row);

/// judge_values, judge_limit, or whether every value of a row with a NaN is NaN.
RowOpinion opinion_of(Op op, const numerics::Contract& contract, const EnumeratedRow& row);

/// What all rows together come to, claim by claim.
class ClaimTallies {
 public:
  explicit ClaimTallies(const KernelSubject& subject) : subject_(subject) {}

  /// Rows that the quick test proved.
  void add_proved(std::uint64_t rows, double share, double row_sum_share);
  /// Rows that are NaN as they are to be.
  void add_nan_rows(std::uint64_t rows);
  void add_errors(const QuickFindings& found, const std::string& worst);
  /// A row that was judged by enclosures; counted unless it was proved before.
  ///
  /// returns  the claim and the share of the finding that used most of its threshold
  struct Worst {
    std::string_view claim;
    double share = 0;
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
  void fail(const EnumeratedRow& row, const ValueFinding& finding, bool special);

  const KernelSubject& subject_;
  Sums sums_;
  std::optional<Failure> failure_;
};

}  // namespace softcheck::proptests
