#include "judge/ops/top_p_softmax/selected_items.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/top_p_softmax/filters.hpp"
#include "numerics/enclosures/decision.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

UpperBound positive_part(const Approximation& value) {
  return UpperBound(std::fmax(0, value.value)) + UpperBound(value.error);
}

// An upper bound of a nonnegative real.
UpperBound upper_end(const Enclosure& value) { return UpperBound(std::fmax(0, value.upper_double())); }

}  // namespace

SelectedItems::SelectedItems(const JudgedRow& row, const TopPThreshold<UpperBound>& granted, RowCascade& whole,
                             std::string_view claim)
    : row_(row),
      granted_(granted),
      whole_(whole),
      claim_(claim),
      maximum_(whole.statistics().maximum),
      log_sum_(upper(log1p(positive_part(whole.statistics().sum_minus_one)))),
      visible_(whole.statistics().visible),
      is_kept_(row.logits.size()),
      may_be_lost_(row.logits.size()),
      reference_(row.logits.size(), -infinity) {
  near_level_ = -std::log(row_.attributes.min_p);
  if (row_.attributes.min_p != 0) level_ = log(UpperBound(next_above(1 / row_.attributes.min_p)));
  const auto& x = row_.logits;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i])) continue;
    if (row_.got[i] == 0) {
      outside_.push_back(i);
      if (!next_ || x[i] > x[*next_]) next_ = i;
      continue;
    }
    if (selected_.empty()) least_ = most_ = i;
    if (x[i] < x[least_]) least_ = i;
    if (x[i] > x[most_]) most_ = i;
    selected_.push_back(i);
    is_kept_[i] = true;
  }
  if (none()) return;
  top_deviation_ = deviation(most_);
  find_k_largest();
  find_lost();
}

// How far x_high may exceed x_low if a kernel may treat the lower one as at least as large.
double SelectedItems::apart(std::size_t high, std::size_t low) const {
  return upper(granted_.choice().exchange(deviation(high), deviation(low)));
}

// May k other items come before this one? Under ties=lowest no equal item of a higher index does.
bool SelectedItems::may_follow_k(std::size_t i) const {
  if (k_ == 0) return false;
  const std::size_t before = rank_[i];
  if (before >= k_) return true;
  std::size_t next = before + 1;
  const auto& x = row_.logits;
  if (row_.contract.ties == Ties::lowest) {
    const auto is_below = [&](double value, std::size_t j) { return value > x[j]; };
    const auto rest = order_.begin() + static_cast<std::ptrdiff_t>(next);
    next = static_cast<std::size_t>(std::upper_bound(rest, order_.end(), x[i], is_below) - order_.begin());
  }
  const std::size_t last = next + (k_ - 1 - before);
  if (last >= order_.size()) return false;
  return may_stand_apart(x[order_[last]], x[i], apart(i, order_[last]));
}

// Must k other items come before this one?
bool SelectedItems::surely_follows_k(std::size_t i) const {
  if (k_ == 0 || rank_[i] < k_) return false;
  const std::size_t last = order_[k_ - 1];
  return !may_stand_apart(row_.logits[i], row_.logits[last], apart(last, i));
}

// Orders the items. With renormalize, bounds the mass of the items that a kernel may take for the k largest: those that
// belong to them surely and the smallest that may belong to them, and all that may.
void SelectedItems::find_k_largest() {
  const auto k = static_cast<std::size_t>(row_.attributes.k);
  if (k == 0 || k >= visible_) return;
  k_ = k;
  order_ = by_descending_logits(row_.logits);
  rank_.resize(row_.logits.size());
  for (std::size_t r = 0; r < order_.size(); ++r) rank_[order_[r]] = r;
  if (!row_.attributes.renormalize || row_.attributes.top_p == 0) return;
  const PrecisionScope precision(113);
  std::vector<bool> least(row_.logits.size()), most = least;
  std::vector<std::size_t> free;
  std::size_t sure = 0;
  for (const std::size_t i : order_) {
    if (surely_follows_k(i)) break;
    most[i] = row_.contract.ties != Ties::lowest || rank_[i] < k_;
    if (may_follow_k(i)) {
      free.push_back(i);
    } else {
      least[i] = true;
      ++sure;
    }
  }
  for (std::size_t taken = sure; taken < k_; ++taken) {
    least[free.back()] = true;
    free.pop_back();
  }
  least_base_ = mass(least, Sums::double_double);
  most_base_ = mass(most, Sums::double_double);
}

// May x_high exceed x_low by at most `allowed` in units of theta? True if doubles cannot decide.
bool SelectedItems::may_stand_apart(double low, double high, double allowed) const {
  return !((high - low) / row_.theta * (1 - 0x1p-50) > allowed);  // two roundings
}

UpperBound SelectedItems::deviation(std::size_t i) const {
  return deviation_at_most(maximum_, row_.logits[i], row_.theta);
}

Enclosure SelectedItems::exact_deviation(std::size_t i) const {
  return (Enclosure(maximum_) - Enclosure(row_.logits[i])) / Enclosure(row_.theta);
}

// Sum of p over some items. The filter or double-doubles compute it relative to the largest of these items.
Enclosure SelectedItems::mass(const std::vector<bool>& items, Sums by) {
  std::vector<double> logits(row_.logits.size(), -infinity);
  double largest = -infinity;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!items[i]) continue;
    logits[i] = row_.logits[i];
    largest = std::max(largest, logits[i]);
  }
  if (largest == -infinity) return Enclosure(0);
  RowCascade part(logits, row_.theta);
  const Enclosure gap = (Enclosure(largest) - Enclosure(maximum_)) / Enclosure(row_.theta);
  return exp(gap) * (sum_minus_one(part, by) + 1) / (sum_minus_one(whole_, by) + 1);
}

// An upper bound of p_i.
UpperBound SelectedItems::mass_at_most(std::size_t i) const {
  return upper_end(exp(-exact_deviation(i)) / (sum_minus_one(whole_, Sums::filter) + 1));
}

// How far a kernel's D_i may be from -ln(min_p).
UpperBound SelectedItems::slack(std::size_t i) const {
  const UpperBound own = deviation(i);
  return granted_.level(own, level_, level_.value() < own.value() ? level_ : own);
}

// Is D_i + more < -ln(min_p)? `more` may be negative.
bool SelectedItems::is_below_level(std::size_t i, double more) const {
  if (std::isinf(more)) return more < 0;
  // Doubles err by a few roundings of the larger side; enclosures decide the remaining cases.
  const double side = deviation(i).value(), level = near_level_;
  const double apart = level - more - side, error = 0x1p-48 * (std::fabs(level) + std::fabs(more) + side);
  if (std::fabs(apart) > error) return apart > 0;
  return escalate([&] { return less(exact_deviation(i), -log(Enclosure(row_.attributes.min_p)) - Enclosure(more)); }) ==
         Decision::proved;
}

// May min_p have excluded the item?
bool SelectedItems::is_left_out_by_level(std::size_t i) const {
  return row_.attributes.min_p != 0 && !is_below_level(i, slack(i).value());
}

// Must min_p exclude the item?
bool SelectedItems::is_surely_left_out_by_level(std::size_t i) const {
  return row_.attributes.min_p != 0 && !is_below_level(i, -slack(i).next().value());
}

// May the item's weight, if it was kept, have underflowed to 0: is it no larger than its threshold? p is a lower bound
// of the weight.
bool SelectedItems::is_lost(std::size_t i) const {
  const long double log_p = -static_cast<long double>(upper(deviation(i))) - log_sum_;
  const double p = static_cast<double>(std::exp(log_p) * (1 - 0x1p-40L));
  const double allowed = upper(lost_threshold_.relative(deviation(i))) * p + upper(lost_threshold_.floor);
  return !(p * (1 - 0x1p-40) > allowed);
}

// Finds the items of value 0 that may have been kept, and their effect on the sum of the weights.
void SelectedItems::find_lost() {
  const PrecisionScope precision(113);
  count_ = selected_.size();
  for (const std::size_t i : selected_) reference_[i] = row_.logits[i];
  std::vector<bool> with_lost = is_kept_, with_sure = is_kept_;
  Enclosure kept(1);
  if (!outside_.empty()) {
    kept = mass(is_kept_, Sums::filter);
    // The mean deviation of the kept items: at most the whole row's divided by their mass.
    const UpperBound mean = positive_part(whole_.mean_deviation()), part = upper_end(Enclosure(1) / kept);
    lost_threshold_ = granted_.kept(visible_, top_deviation_, mean * part, part);
  }
  std::size_t first_lost = 0;
  for (const std::size_t i : outside_) {
    may_be_lost_[i] = is_lost(i);
    if (!may_be_lost_[i] || is_surely_left_out(i)) continue;
    with_lost[i] = true;
    with_sure[i] = !is_left_out(i);
    if (certain_ || row_.logits[i] > row_.logits[first_lost]) first_lost = i;
    certain_ = false;
  }
  const UpperBound largest_lost = certain_ ? UpperBound(0) : mass_at_most(first_lost);
  const double top_p = row_.attributes.top_p;
  const double excess = upper(granted_.mass(largest_lost) + UpperBound(static_cast<double>(visible_)) * largest_lost);
  if (!certain_ && top_p != 0 && excess < infinity &&
      less(Enclosure(top_p) * most_base_ + Enclosure(excess), kept) == Decision::proved) {
    certain_ = true;  // the kept items reach top_p, so no other item was kept
  }
  if (certain_) {
    chosen_.emplace(reference_, row_.theta);
    mean_deviation_ = positive_part(chosen_->mean_deviation());
    over_mass_ = upper_end(Enclosure(1) / kept);
    return;
  }
  for (const std::size_t i : outside_) {
    if (!with_lost[i]) continue;
    reference_[i] = row_.logits[i];
    ++count_;
  }
  const Enclosure most = mass(with_lost, Sums::filter), sure = mass(with_sure, Sums::filter);
  const double missing = upper(granted_.mass(largest_lost));
  const Enclosure reached = top_p == 0           ? sure
                            : missing < infinity ? minimum(sure, Enclosure(top_p) * least_base_ - Enclosure(missing))
                                                 : kept;
  const Enclosure least = numerics::maximum(kept, reached);
  most_scale_ = upper_end(most / least);
  over_mass_ = upper_end(Enclosure(1) / least);
  chosen_.emplace(reference_, row_.theta);
  mean_deviation_ = positive_part(chosen_->mean_deviation()) * most_scale_;
}

ElementThreshold<UpperBound> SelectedItems::threshold(const TopPThreshold<UpperBound>& granted) const {
  return granted.kept(count_, top_deviation_, mean_deviation_, over_mass_);
}

ValueFinding SelectedItems::of_item(std::size_t i, Decision decision, std::string_view reason) const {
  return {claim_, i, Enclosure(0), row_.got[i], 0, decision, {}, true, reason};
}

// Tests whether the items' mass reaches top_p (is_due), or does not exceed it, within the error granted at the place of
// `last`. Nothing if the test is passed.
std::optional<ValueFinding> SelectedItems::of_mass(const std::vector<bool>& items, bool is_due, std::size_t last,
                                                   std::string_view reason) {
  const PrecisionScope precision(113);
  const UpperBound allowed = granted_.mass(mass_at_most(last), upper_end(most_base_));
  if (allowed.value() == infinity) return std::nullopt;
  const Enclosure top_p = Enclosure(row_.attributes.top_p) * (is_due ? least_base_ : most_base_);
  Enclosure reached;
  Decision decision = Decision::undecided;
  for (const Sums by : {Sums::filter, Sums::double_double}) {
    reached = mass(items, by);
    decision = less_equal(is_due ? top_p - reached : reached - top_p, Enclosure(allowed.value()));
    if (decision == Decision::proved) return std::nullopt;
  }
  return ValueFinding{claim_, std::nullopt, top_p, reached.midpoint(), allowed.value(), decision, {}, false, reason};
}

// Is the largest coefficient below the output's smallest number? Then the output does not show what was kept.
bool SelectedItems::may_all_be_lost() const {
  const FormatProperties& output = properties(row_.contract.output);
  const bool kept = row_.contract.subnormals == Subnormals::kept;
  const Enclosure largest = Enclosure(1) / RowOracle(row_.logits, row_.theta).sum();
  return less(largest, Enclosure(kept ? output.smallest_subnormal : output.smallest_normal)) == Decision::proved;
}

ValueFinding SelectedItems::set() {
  if (none()) return of_item(most_, may_all_be_lost() ? Decision::proved : Decision::violated, "no item is kept");
  if (auto wrong = wrong_order()) return *wrong;
  if (auto wrong = too_few()) return *wrong;
  if (auto wrong = too_many()) return *wrong;
  return of_item(most_, Decision::proved);
}

std::optional<ValueFinding> SelectedItems::wrong_order() const {
  if (!next_) return std::nullopt;
  const double high = row_.logits[*next_], low = row_.logits[least_];
  if (high > low) {
    const double allowed = upper(granted_.choice().exchange(deviation(*next_), deviation(least_)));
    const Decision decision = allowed == infinity ? Decision::proved : escalate([&] {
      return less_equal((Enclosure(high) - Enclosure(low)) / Enclosure(row_.theta), Enclosure(allowed));
    });
    if (decision != Decision::proved) return of_item(*next_, decision, "an item of a smaller logit is kept");
  }
  if (row_.contract.ties != Ties::lowest) return std::nullopt;
  std::map<double, std::size_t> last;  // per logit that unchosen items may share, the last kept item
  for (const std::size_t i : selected_) {
    if (row_.logits[i] <= high) last[row_.logits[i]] = i;
  }
  for (const std::size_t i : outside_) {
    const auto found = last.find(row_.logits[i]);
    if (found == last.end() || found->second < i) continue;
    return of_item(found->second, Decision::violated, "an equal item of a lower index is not kept");
  }
  return std::nullopt;
}

// Tests the largest item that is not kept: min_p excludes it, or k items come before it, or those before it reach
// top_p.
std::optional<ValueFinding> SelectedItems::too_few() {
  if (!next_ || may_be_lost_[*next_] || is_left_out_by_level(*next_)) return std::nullopt;
  // The items before it may include others that are not kept: excluded by min_p, or with weights that underflowed.
  std::vector<bool> prefix = is_kept_;
  for (const std::size_t i : outside_) {
    if (i == *next_ || !(may_be_lost_[i] || is_left_out_by_level(i))) continue;
    prefix[i] = may_stand_apart(row_.logits[i], row_.logits[*next_], apart(*next_, i));
  }
  if (k_ != 0 && static_cast<std::size_t>(std::ranges::count(prefix, true)) >= k_) return std::nullopt;
  if (row_.attributes.top_p == 0) {
    return of_item(*next_, Decision::violated,
                   k_ != 0                      ? "this item is one of the k largest"
                   : row_.attributes.min_p == 0 ? "no filter leaves this item out"
                                                : "this item has min_p of the largest");
  }
  return of_mass(prefix, true, *next_, "the items that are kept do not reach top_p");
}

// Tests the smallest kept item: it must have min_p of the largest, and the items before it must not reach top_p. Items
// that a kernel may consider equally small do not count as before it; with ties=lowest, the last of them is tested.
std::optional<ValueFinding> SelectedItems::too_many() {
  if (is_surely_left_out_by_level(least_)) {
    return of_item(least_, Decision::violated, "an item below min_p of the largest is kept");
  }
  if (surely_follows_k(least_) || (k_ != 0 && row_.contract.ties == Ties::lowest && selected_.size() > k_)) {
    return of_item(least_, Decision::violated, "more items than the k largest are kept");
  }
  if (row_.attributes.top_p == 0) return std::nullopt;
  const UpperBound low = deviation(least_);
  std::vector<bool> before = is_kept_;
  std::size_t largest = least_;
  for (const std::size_t i : selected_) {
    const double apart = upper(granted_.choice().exchange(deviation(i), low));
    if (!may_stand_apart(row_.logits[least_], row_.logits[i], apart)) continue;
    if (row_.logits[i] > row_.logits[largest]) largest = i;
    if (row_.contract.ties != Ties::lowest) before[i] = false;
  }
  before[largest] = false;
  return of_mass(before, false, largest, "fewer of the kept items reach top_p");
}

}  // namespace softcheck::proptests
