#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "judge/verdict/value_certificate.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/enclosures/upper_bound.hpp"
#include "numerics/filter/row_cascade.hpp"
#include "numerics/rounding/rounding_top_p.hpp"

namespace softcheck::proptests {

/// top_p and min_p of a call, from the low six bits of RowCase::auxiliary: each off, 1, tiny or something between.
Attributes drawn_filters(std::uint64_t auxiliary);
/// RowOp::closed_auxiliaries: what the domain's words leave of these bits.
std::uint64_t closed_filters(const Domain& domain);
/// The row that a kernel is called with: as it was drawn or, for some numbers, one whose masses or levels lie at what
/// the call's attributes divide: equal logits, halves of one another, neighbours of the largest one's min_p.
std::vector<double> filtered_logits(numerics::Format format, std::span<const double> logits, std::uint64_t auxiliary);

/// The items that top-p and min-p keep, exactly: of equal logits those of the lowest indices. A mass that 512 bits
/// cannot tell from top_p reaches it.
std::vector<bool> exactly_selected(const RowInputs& row);

/// The items that a kernel kept, and whether it may keep them. Those are the items whose value is not 0; an item of
/// value 0 was left out, or it was kept and its weight was lost to underflow.
class SelectedItems {
 public:
  /// row     at least one finite logit          got   (n)
  /// claim   of the set: a literal
  SelectedItems(const JudgedRow& row, const numerics::TopPThreshold<numerics::UpperBound>& granted,
                numerics::RowCascade& whole, std::string_view claim);

  bool none() const { return selected_.empty(); }
  bool may_all_be_lost() const;

  /// Is every item kept that must be, and none that must not?
  ValueFinding set();

  // What the weights are judged by; needs that some are kept.
  /// (n) the logits of the items that are kept or may have been, -inf elsewhere; and their sums.
  const std::vector<double>& logits() const { return reference_; }
  numerics::RowCascade& cascade() { return *chosen_; }
  /// Of those that are kept.
  const std::vector<std::size_t>& places() const { return selected_; }
  /// The sum of p over logits() by the sum of p over what was kept: at most, and at least.
  numerics::UpperBound most_scale() const { return most_scale_; }
  bool is_certain() const { return certain_; }  // no item of value 0 may have been kept: both are 1
  bool is_whole() const { return count_ == visible_; }
  numerics::ElementThreshold<numerics::UpperBound> threshold(
      const numerics::TopPThreshold<numerics::UpperBound>& granted) const;

 private:
  numerics::Enclosure mass(const std::vector<bool>& items, Sums by);
  numerics::UpperBound mass_at_most(std::size_t i) const;
  numerics::UpperBound deviation(std::size_t i) const;
  numerics::Enclosure exact_deviation(std::size_t i) const;
  numerics::UpperBound slack(std::size_t i) const;
  bool may_stand_apart(double low, double high, double allowed) const;
  bool is_below_level(std::size_t i, double more) const;
  bool is_left_out_by_level(std::size_t i) const;
  bool is_surely_left_out_by_level(std::size_t i) const;
  bool is_lost(std::size_t i) const;
  void find_lost();
  std::optional<ValueFinding> wrong_order() const;
  std::optional<ValueFinding> too_few();
  std::optional<ValueFinding> too_many();
  ValueFinding of_item(std::size_t i, numerics::Decision decision, std::string_view reason = {}) const;
  std::optional<ValueFinding> of_mass(const std::vector<bool>& items, bool is_due, std::size_t last,
                                      std::string_view reason);

  const JudgedRow row_;
  const numerics::TopPThreshold<numerics::UpperBound>& granted_;
  numerics::RowCascade& whole_;
  std::string_view claim_;
  double maximum_;
  double log_sum_;              // ln S, at most
  double near_level_;           // -ln(min_p), within a rounding of a double
  numerics::UpperBound level_;  // at most
  std::size_t visible_;
  std::vector<std::size_t> selected_, outside_;  // ascending
  std::vector<bool> is_kept_, may_be_lost_;
  std::size_t least_ = 0, most_ = 0;  // of the kept ones that of the smallest and of the largest logit
  std::optional<std::size_t> next_;   // of the others that of the largest one
  numerics::ElementThreshold<numerics::UpperBound> lost_threshold_;
  std::vector<double> reference_;
  std::optional<numerics::RowCascade> chosen_;  // of reference_
  std::size_t count_ = 0;
  bool certain_ = true;
  numerics::UpperBound most_scale_{1}, top_deviation_, mean_deviation_, over_mass_;
};

}  // namespace softcheck::proptests
