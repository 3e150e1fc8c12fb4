#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "judge/ops/rows/argument_form.hpp"
#include "numerics/filter/argument_filter.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// The kind of an enumeration's rows.
enum class RowKind {
  pairs,           // two logits
  beside_maximum,  // a maximum, first or last, and neighbouring numbers below it
  odd_one,         // equal logits, and a smaller one at the end
  any
};

/// Rows of one length and temperature that are judged together.
struct RowShape {
  RowKind kind = RowKind::any;
  std::size_t columns = 2;
  double theta = 1;
  bool maximum_first = true;  // for beside_maximum
  // For attention, whose columns are keys: numbers of a query beyond the first, and of a value beyond the columns, are
  // 0.
  std::size_t dim = 1, value_dim = 0;
  double scale = 1;
};

/// The findings of a quick judgement of one call's rows, by row number.
struct QuickFindings {
  std::vector<std::size_t> open;  // rows left to enclosures, ascending
  double share = 0;               // an upper bound of the share of its threshold that any other value used
  std::size_t share_row = 0;
  double row_sum_share = 0;
  double worst_ulps = 0;
  double worst_allowed = 0;
  std::size_t worst_row = 0;
  double total_ulps = 0;
  std::uint64_t ulps = 0;
};

/// Proves most rows of a shape to be within their contract, in double arithmetic with proved errors, by lower bounds of
/// the contract's thresholds. Derivation: docs/kernels/exhaustive.md.
class QuickRows {
 public:
  QuickRows(const ArgumentForm& form, const numerics::Contract& contract, const RowShape& shape);

  /// logits   (rows, columns), as the kernel got them
  /// got      (rows, columns) or (rows)
  QuickFindings judge(std::span<const double> logits, std::span<const double> got);
  /// Judges other values of the rows that `other`, of the same shape but not pairs, judged last.
  QuickFindings judge_rows_of(const QuickRows& other, std::span<const double> got);

  /// The largest factor, at most 1, by which this contract's thresholds stay within the other contract's: rows that use
  /// at most this share of the one hold by the other.
  double least_part(const QuickRows& other) const { return table_.least_part(other.table_); }

 private:
  void fill_table();
  numerics::ArgumentThreshold threshold_of(double lowest, double highest, std::uint64_t rescalings) const;
  void judge_pairs(std::span<const double> logits, std::span<const double> got, QuickFindings& found);
  void weigh(std::span<const double> logits);
  void judge_long(const QuickRows& weighed, std::span<const double> got, QuickFindings& found);
  std::vector<std::size_t> find_ends(std::span<const double> logits);
  void judge_items(const QuickRows& weighed, numerics::ArgumentRows whole, std::span<const double> got,
                   QuickFindings& found);
  void add(const numerics::ArgumentFindings& part, std::size_t items_of_row, QuickFindings& found) const;
  bool is_scalar() const { return form_.value >= numerics::ArgumentValue::logsumexp; }

  const ArgumentForm form_;
  const numerics::Contract contract_;
  const RowShape shape_;
  numerics::ArgumentTable table_;
  numerics::ArgumentQuestion question_;
  std::vector<double> deviation_, maximum_, first_, second_, weight_;
  std::vector<double> sum_, log_sum_, moment_, total_, row_deviation_;  // per row
  std::vector<std::size_t> unsaid_;  // rows to which the quick test does not apply, ascending
  std::vector<double> item_deviation_, item_got_, item_sum_, item_log_sum_, item_maximum_;  // per item
};

}  // namespace softcheck::proptests
