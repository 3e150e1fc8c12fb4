#include "judge/ops/cross_entropy/divergence_terms.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "numerics/enclosures/coarse.hpp"
#include "numerics/formats/next_double.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

UpperBound rounded_up(long double value) { return coarse(UpperBound(next_above(static_cast<double>(value)))); }

// Neumaier's sum in long double, with an error of two roundings of its terms' magnitudes.
class SignedSum {
 public:
  void add(const Quick& term, std::size_t count) {
    const auto times = static_cast<long double>(count);
    const long double value = term.value * times, next = sum_ + value;
    rest_ += std::fabs(sum_) >= std::fabs(value) ? (sum_ - next) + value : (value - next) + sum_;
    sum_ = next;
    error_ += times * term.error + 4 * two_roundings * std::fabs(value);
  }
  Quick total() const { return {sum_ + rest_, error_ * (1 + 0x1p-30L)}; }

 private:
  long double sum_ = 0, rest_ = 0, error_ = 0;
};

}  // namespace

UpperBound at_most(const Quick& quick) { return rounded_up((std::fabs(quick.value) + quick.error) * (1 + 0x1p-50L)); }

Quick product(const Quick& a, const Quick& b) {
  const long double error = std::fabs(a.value) * b.error + a.error * (std::fabs(b.value) + b.error);
  return {a.value * b.value, error + two_roundings * std::fabs(a.value * b.value)};
}

Quick sum(const Quick& a, const Quick& b) {
  return {a.value + b.value, a.error + b.error + two_roundings * std::fabs(a.value + b.value)};
}

DistributionTerms::DistributionTerms(const RowInputs& row, std::span<const double> logits) : theta_(row.theta) {
  RowCascade cascade(logits, row.theta);
  statistics = statistics_of(cascade.statistics(), row.contract, logits, row.theta);
  maximum_ = cascade.statistics().maximum;
  const PrecisionScope precision(113);
  log_sum_ = quick_of(log1p(sum_minus_one(cascade, sums_for(row.contract.output))));
}

Quick DistributionTerms::negative_log(double x) const {
  const long double value = deviation(x) + log_sum_.value;
  return {value, 2 * two_roundings * value + log_sum_.error};
}

// expl has at most 2 ulps (the GNU C library's manual, x86-64).
Quick DistributionTerms::coefficient(double x) const {
  if (x == -infinity) return {0, 0};
  const Quick log = negative_log(x);
  const long double value = std::exp(-log.value);
  return {value, value * (2 * log.error + 2 * two_roundings) + 0x1p-1070L};
}

RowOp::Due DivergenceTerms::hidden_due(const RowInputs& row) {
  const std::span<const double> teacher = row.auxiliary[0];
  const auto hidden = [](std::span<const double> of) {
    return std::ranges::all_of(of, [](double x) { return x == -infinity; });
  };
  if (hidden(row.logits) || hidden(teacher)) return RowOp::Due::nothing;
  const bool reverse = row.attributes.reverse;
  const std::span<const double> w = reverse ? row.logits : teacher, v = reverse ? teacher : row.logits;
  double largest = -infinity;
  for (std::size_t j = 0; j < w.size(); ++j) {
    if (v[j] == -infinity) largest = std::fmax(largest, w[j]);
  }
  if (largest == -infinity) return RowOp::Due::values;
  const long double least = 4 * properties(row.contract.accumulator).smallest_normal;
  return DistributionTerms(row, w).coefficient(largest).value >= least ? RowOp::Due::infinity : RowOp::Due::nothing;
}

DivergenceTerms::DivergenceTerms(const RowInputs& row)
    : row_(row),
      reverse_(row.attributes.reverse),
      logits_(reverse_ ? row.logits : std::span<const double>(row.auxiliary[0])),
      others_(reverse_ ? std::span<const double>(row.auxiliary[0]) : row.logits),
      weighing_(row, logits_),
      other_(row, others_) {
  std::map<std::pair<double, double>, std::size_t> found;
  item_of_.reserve(logits_.size());
  for (std::size_t j = 0; j < logits_.size(); ++j) {
    const bool same = j > 0 && logits_[j] == logits_[j - 1] && others_[j] == others_[j - 1];
    if (!same) {
      const auto [place, fresh] = found.try_emplace({logits_[j], others_[j]}, items_.size());
      if (fresh) items_.push_back(item(logits_[j], others_[j]));
      item_of_.push_back(place->second);
    } else {
      item_of_.push_back(item_of_.back());
    }
    ++items_[item_of_[j]].times;
  }
  SignedSum terms, sizes;
  for (const auto& [logits, at] : found) {
    const Item& each = items_[at];
    if (each.hidden) continue;
    const Quick all = sum(weighing_.negative_log(logits.first), other_.negative_log(logits.second));
    terms.add(product(each.weight, each.ratio), each.times);
    sizes.add(product(each.weight, all), each.times);
    largest_ = std::fmax(largest_, static_cast<double>(all.value));
  }
  value = terms.total();
  metric = sizes.total().value;
  // A kernel may divide the logits by theta first.
  if (row.theta != 1) {
    for (const DistributionTerms* of : {&weighing_, &other_}) {
      largest_ = std::fmax(largest_, upper(of->statistics.largest_magnitude));
    }
  }
  // A kernel may divide the sum by S last.
  largest_ = std::fmax(largest_, std::exp(upper(weighing_.statistics.log_sum)) * static_cast<double>(metric));
}

DivergenceTerms::Item DivergenceTerms::item(double w, double v) const {
  Item item{.hidden = w == -infinity, .weight = weighing_.coefficient(w), .other = other_.coefficient(v), .bounds = {}};
  item.bounds.coefficient = at_most(item.weight);
  item.bounds.deviation = rounded_up(weighing_.deviation(w) * (1 + 0x1p-50L));
  item.bounds.other_coefficient = at_most(item.other);
  item.bounds.other_deviation = rounded_up(other_.deviation(v) * (1 + 0x1p-50L));
  if (item.hidden || v == -infinity) return item;
  const Quick log = weighing_.negative_log(w);
  item.ratio = sum(other_.negative_log(v), {-log.value, log.error});
  item.bounds.ratio = at_most(item.ratio);
  return item;
}

DivergenceThreshold<UpperBound> DivergenceTerms::threshold(Grants grants) const {
  DivergenceThreshold<UpperBound> threshold(row_.contract, weighing_.statistics, other_.statistics, grants);
  for (const Item& item : items_) {
    if (!item.hidden) threshold.add(item.bounds, static_cast<double>(item.times));
  }
  return threshold;
}

double DivergenceTerms::resolution() const {
  const double unit = properties(row_.contract.accumulator).unit_roundoff;
  double most = 0;
  for (const Statistics* of : {&weighing_.statistics, &other_.statistics}) {
    most += resolution_of_logarithms(row_.contract, *of);
    if (cancels()) most += unit * upper(of->largest_magnitude + of->logsumexp_magnitude);
  }
  return most;
}

bool DivergenceTerms::resolved() const {
  return is_resolved(row_.contract, weighing_.statistics, cancels()) &&
         is_resolved(row_.contract, other_.statistics, cancels());
}

}  // namespace softcheck::proptests
