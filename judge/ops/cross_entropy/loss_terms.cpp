#include "judge/ops/cross_entropy/loss_terms.hpp"

#include <algorithm>
#include <cmath>

#include "judge/ops/rows/long_softmax.hpp"
#include "numerics/enclosures/coarse.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/rounding.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// Sums over a row's items after the softcap, by runs of equal logits: of w = e^-D (without the largest item), w D and w
// D^2. Every D may be too small by `less`.
struct CappedSums {
  long double sum_minus_one = 0, weighted_deviation = 0, second_moment = 0;
  long double largest_deviation = 0;
  std::size_t runs = 0;
};

CappedSums sums_of(std::span<const long double> capped, std::size_t largest, long double less) {
  CappedSums sums;
  for (std::size_t i = 0; i < capped.size();) {
    std::size_t end = i;
    while (end < capped.size() && capped[end] == capped[i]) ++end;
    const auto count = static_cast<long double>(end - i - (i <= largest && largest < end ? 1 : 0));
    const long double deviation = capped[largest] - capped[i], weight = std::exp(-deviation);
    sums.sum_minus_one += count * weight;
    sums.weighted_deviation += static_cast<long double>(end - i) * weight * (deviation + less);
    sums.second_moment += static_cast<long double>(end - i) * weight * (deviation + less) * (deviation + less);
    sums.largest_deviation = std::max(sums.largest_deviation, deviation);
    ++sums.runs;
    i = end;
  }
  return sums;
}

long double roundings(std::size_t operations) { return two_roundings * static_cast<long double>(operations); }

// Neumaier's sum of nonnegative terms, accurate to two roundings and n^2 2^-128. The error bound of a plain sum grows
// with n, and exceeds the threshold of an f64 contract for a long row.
class CompensatedSum {
 public:
  void add(long double term) {
    const long double next = sum_ + term;
    rest_ += sum_ >= term ? (sum_ - next) + term : (term - next) + sum_;
    sum_ = next;
  }
  long double value() const { return sum_ + rest_; }

 private:
  long double sum_ = 0, rest_ = 0;
};

}  // namespace

LossTerms::LossTerms(const RowInputs& row, std::span<const double> weights, std::size_t label,
                     const CrossEntropyOptions& options)
    : logits_(row.logits),
      weights_(weights),
      label_(label),
      options_{.label_smoothing = options.summed ? options.label_smoothing : row.attributes.label_smoothing,
               .z_loss = row.attributes.z_loss,
               .softcap = row.attributes.softcap,
               .summed = options.summed,
               .theta = row.theta,
               .tanh_error = row.contract.tanh_error} {
  if (options_.softcap == 0) {
    take_plain(row.contract);
  } else {
    take_capped(row.contract);
  }
  if (is_smoothed()) take_means();
}

std::size_t LossTerms::first_visible(const RowInputs& row) {
  const auto visible = std::ranges::find_if(row.logits, [](double x) { return x != -infinity; });
  return static_cast<std::size_t>(visible - row.logits.begin());
}

void LossTerms::take_plain(const Contract& contract) {
  RowCascade cascade(logits_, options_.theta);
  statistics_ = statistics_of(cascade.statistics(), contract, logits_, options_.theta);
  largest_logit_ = cascade.statistics().maximum;
  maximum_ = largest_logit_ / static_cast<long double>(options_.theta);
  const PrecisionScope precision(113);
  log_sum_ = quick_of(log1p(sum_minus_one(cascade, sums_for(contract.output))));
}

void LossTerms::take_capped(const Contract& contract) {
  long double largest_magnitude = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (i > 0 && logits_[i] == logits_[i - 1]) {
      capped_.push_back(capped_.back());
      continue;
    }
    const LongApproximation x = capped_score({logits_[i], 0}, options_.softcap);
    capped_.push_back(x.value);
    cap_error_ = std::max<long double>(cap_error_, x.error);
    largest_magnitude = std::max(largest_magnitude, std::fabs(x.value));
  }
  const auto largest = static_cast<std::size_t>(std::ranges::max_element(capped_) - capped_.begin());
  maximum_ = capped_[largest];
  const CappedSums sums = sums_of(capped_, largest, deviation_error());
  // Per term: the rounded argument, and at most 2 ulps of expl (the GNU C library's manual, x86-64). Then the sum over
  // the runs.
  const long double relative =
      2 * (deviation_error() + two_roundings * sums.largest_deviation) + roundings(4) + roundings(sums.runs + 2);
  const auto error = static_cast<double>(relative * sums.sum_minus_one);
  const PrecisionScope precision(113);
  const LongApproximation rest{sums.sum_minus_one, next_above(error)};
  log_sum_ = quick_of(log1p(numerics::maximum(rest.enclosure(), Enclosure(0))));
  // Relative to S >= 1, and to the numerator.
  const long double sum = 1 + sums.sum_minus_one, growth = 1 + 4 * relative + roundings(8);
  statistics_.size = statistics_.visible = size();
  statistics_.rescalings = cross_entropy_rescalings(contract, options_, logits_);
  statistics_.log_sum = at_most(log_sum_.value + log_sum_.error);
  statistics_.mean_deviation = at_most(sums.weighted_deviation / sum * growth);
  statistics_.mean_square_deviation = at_most(sums.second_moment / sum * growth);
  statistics_.maximum_magnitude = at_most(std::fabs(maximum_) + cap_error_);
  statistics_.largest_magnitude = at_most(largest_magnitude + cap_error_);
  statistics_.logsumexp_magnitude = at_most(std::fabs(logsumexp()) + logsumexp_error());
}

void LossTerms::take_means() {
  CompensatedSum weights, deviations, magnitudes;
  for (std::size_t i = 0; i < size(); ++i) {
    if (is_hidden(i)) continue;
    const long double x = capped_.empty() ? logits_[i] / static_cast<long double>(options_.theta) : capped_[i];
    weights.add(weight(i));
    deviations.add(weight(i) * deviation(i));
    largest_deviation_ = std::max(largest_deviation_, deviation(i));
    magnitudes.add(weight(i) * std::fabs(x));
  }
  mean_weight_ = weights.value() / classes();
  mean_deviation_ = deviations.value() / classes();
  mean_magnitude_ = magnitudes.value() / classes();
}

long double LossTerms::deviation(std::size_t i) const {
  if (!capped_.empty()) return maximum_ - capped_[i];
  return (static_cast<long double>(largest_logit_) - logits_[i]) / static_cast<long double>(options_.theta);
}

// The maximum and ln S may cancel.
long double LossTerms::logsumexp_error() const {
  return 2 * two_roundings * (std::fabs(maximum_) + log_sum_.value) + log_sum_.error + cap_error_;
}

// Sums of terms of one sign, and a few more operations.
Quick LossTerms::smoothed() const {
  const long double s = options_.label_smoothing;
  const long double value = (1 - s) * weight(label_) * negative_log(label_) +
                            (s == 0 ? 0 : s * (mean_weight_ * log_sum_.value + mean_deviation_));
  const long double each = 2 * log_sum_.error + 2 * deviation_error();
  return {value, sum_error() * value + each * total_weight()};
}

long double LossTerms::total_weight() const {
  const long double s = options_.label_smoothing;
  return (1 - s) * weight(label_) + s * mean_weight_;
}

// Roundings: difference, product, sum, division, and the operations on the means in the loss.
long double LossTerms::sum_error() const { return roundings(16); }

long double LossTerms::subtrahend(std::size_t j) const {
  const long double s = options_.label_smoothing;
  return (j == label_ ? (1 - s) * weight(j) : 0) + s / classes() * weight(j);
}

// expl has at most 2 ulps (the GNU C library's manual, x86-64); its argument has two roundings and the errors of ln S
// and the cap.
long double LossTerms::coefficient_error(std::size_t i) const {
  return 4 * two_roundings * (1 + negative_log(i)) + 2 * log_sum_.error + 2 * deviation_error();
}

LossTerms::Slope LossTerms::slope(std::size_t i) const {
  if (capped_.empty()) return {};
  // tanh errs by 5 roundings, plus the quotient's; then its square and the difference.
  const long double tangent = capped_[i] / static_cast<long double>(options_.softcap), square = tangent * tangent;
  return {1 - square, square, roundings(8)};
}

CrossEntropyRow<UpperBound> LossTerms::bounded() const {
  CrossEntropyRow<UpperBound> row;
  row.statistics = statistics_;
  row.target_deviation = at_most(deviation(label_) + deviation_error());
  row.target_weight = UpperBound(weight(label_));
  row.weighted = !weights_.empty();
  row.mean_weight = at_most(mean_weight_);
  row.mean_deviation = at_most(mean_deviation_ + mean_weight_ * deviation_error());
  row.mean_magnitude = at_most(mean_magnitude_ + mean_weight_ * cap_error_);
  return row;
}

double LossTerms::largest_of_loss() const {
  const UpperBound lse = statistics_.logsumexp_magnitude;
  // With smoothing each class has a term; a kernel may multiply by the weight last.
  UpperBound largest = at_most(std::max(deviation(label_), largest_deviation_) + deviation_error());
  if (!weights_.empty()) {
    // With a weight below 1 the unweighted number is the larger one.
    const double heaviest = *std::ranges::max_element(weights_);
    largest = largest * UpperBound(std::fmax(1, heaviest));
  }
  if (is_smoothed()) {
    const UpperBound mean = at_most(mean_deviation_ + mean_weight_ * deviation_error()) +
                            at_most(mean_magnitude_ + mean_weight_ * cap_error_) +
                            at_most(mean_weight_) * (statistics_.log_sum + lse);
    largest = largest + mean * UpperBound(static_cast<double>(classes()));
  }
  if (options_.z_loss > 0) largest = largest + lse * lse;
  // A difference may be divided by theta only later.
  return upper(largest * UpperBound(std::fmax(1, options_.theta)));
}

double LossTerms::largest_of_gradient() const {
  return options_.z_loss > 0 ? upper(statistics_.logsumexp_magnitude + statistics_.logsumexp_magnitude) : 0;
}

UpperBound LossTerms::at_most(long double value) const {
  const long double above = value * (1 + roundings(16 + size()));
  return coarse(UpperBound(next_above(static_cast<double>(above))));
}

}  // namespace softcheck::proptests
