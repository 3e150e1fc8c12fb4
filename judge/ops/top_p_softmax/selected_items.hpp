#pragma once

#include <cstddef>
#include <optional>
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

/// The items that a kernel kept, and whether the contract allows the choice. An item with a nonzero value was kept; one
/// with value 0 was excluded, or its weight underflowed.
class SelectedItems {
 public:
  /// row     at least one finite logit          got   (n)
  /// claim   a string literal
  SelectedItems(const JudgedRow& row, const numerics::TopPThreshold<numerics::UpperBound>& granted,
                numerics::RowCascade& whole, std::string_view claim);

  bool none() const { return selected_.empty(); }
  bool may_all_be_lost() const;

  /// The claim that the kernel kept every required item and no excluded one.
  ValueFinding set();

  // For judging the weights; needs at least one kept item.
  /// (n) logits of the items that were or may have been kept, -inf elsewhere.
  const std::vector<double>& logits() const { return reference_; }
  numerics::RowCascade& cascade() { return *chosen_; }
  /// Indices of the kept items.
  const std::vector<std::size_t>& places() const { return selected_; }
  /// An upper bound of (sum of p over logits()) / (sum of p over the kept items); the lower bound is 1.
  numerics::UpperBound most_scale() const { return most_scale_; }
  bool is_certain() const { return certain_; }  // no item of value 0 may have been kept, so the quotient is 1
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
  double apart(std::size_t high, std::size_t low) const;
  bool may_follow_k(std::size_t i) const;
  bool surely_follows_k(std::size_t i) const;
  void find_k_largest();
  bool is_left_out(std::size_t i) const { return is_left_out_by_level(i) || may_follow_k(i); }
  bool is_surely_left_out(std::size_t i) const { return is_surely_left_out_by_level(i) || surely_follows_k(i); }
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
  double log_sum_;              // an upper bound of ln S
  double near_level_;           // -ln(min_p), up to a rounding
  numerics::UpperBound level_;  // an upper bound of -ln(min_p)
  std::size_t visible_;
  std::vector<std::size_t> selected_, outside_;       // ascending
  std::size_t k_ = 0;                                 // 0: off, or all visible items
  std::vector<std::size_t> order_, rank_;             // with k: the visible items in descending order, and its inverse
  numerics::Enclosure least_base_{1}, most_base_{1};  // the mass of which top_p is a share
  std::vector<bool> is_kept_, may_be_lost_;
  std::size_t least_ = 0, most_ = 0;  // the kept items with the smallest and the largest logit
  std::optional<std::size_t> next_;   // the item with the largest logit that was not kept
  numerics::ElementThreshold<numerics::UpperBound> lost_threshold_;
  std::vector<double> reference_;
  std::optional<numerics::RowCascade> chosen_;  // of reference_
  std::size_t count_ = 0;
  bool certain_ = true;
  numerics::UpperBound most_scale_{1}, top_deviation_, mean_deviation_, over_mass_;
};

}  // namespace softcheck::proptests
