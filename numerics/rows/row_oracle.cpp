#include "numerics/rows/row_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "numerics/rows/deviation_sums.hpp"

namespace softcheck::numerics {
namespace {

bool is_masked(double logit) { return std::isinf(logit); }

void require_row(std::span<const double> logits, double theta) {
  if (!(theta > 0) || !std::isfinite(theta)) {
    throw std::invalid_argument("RowOracle: theta must be > 0 and finite, got " + std::to_string(theta));
  }
  for (const double logit : logits) {
    if (std::isnan(logit) || logit == std::numeric_limits<double>::infinity()) {
      throw std::invalid_argument("RowOracle: logits must be finite or -inf, got " + std::to_string(logit));
    }
  }
}

}  // namespace

RowOracle::RowOracle(std::span<const double> logits, double theta) : RowOracle(logits, theta, nullptr) {}

RowOracle RowOracle::at_inverse_temperature(std::span<const double> logits, const Enclosure& beta) {
  if (!beta.certainly_positive() || !mpfi_bounded_p(beta.data())) {
    throw std::invalid_argument("RowOracle::at_inverse_temperature: beta must be > 0 and finite, got " +
                                beta.to_string());
  }
  return {logits, 1, &beta};
}

RowOracle::RowOracle(std::span<const double> logits, double theta, const Enclosure* beta)
    : logits_(logits.begin(), logits.end()), theta_(theta), precision_(working_precision()) {
  if (beta) beta_ = *beta;
  const FpEnvironmentGuard environment;
  require_row(logits, theta);
  for (std::size_t i = 0; i < logits_.size(); ++i) {
    if (is_masked(logits_[i])) continue;
    if (visible_ == 0 || logits_[i] > logits_[argmax_]) argmax_ = i;
    if (visible_ == 0 || logits_[i] < logits_[argmin_]) argmin_ = i;
    ++visible_;
  }
  if (visible_ > 0) add_up();
}

void RowOracle::add_up() {
  DeviationSums sums(visible_);
  const bool keep = logits_.size() <= cached_weights;
  if (keep) weights_.resize(logits_.size());
  for (std::size_t begin = 0; begin < logits_.size();) {
    std::size_t end = begin + 1;
    while (end < logits_.size() && logits_[end] == logits_[begin]) ++end;
    if (!is_masked(logits_[begin])) {
      const Enclosure exponent = exponent_of(begin);
      const Enclosure weight = weight_of(exponent);
      const bool holds_argmax = begin <= argmax_ && argmax_ < end;
      sums.add(exponent, weight, end - begin - (holds_argmax ? 1 : 0));
      if (keep) std::fill(weights_.begin() + begin, weights_.begin() + end, weight);
    }
    begin = end;
  }
  sum_minus_one_ = sums.sum();
  weighted_deviation_ = sums.weighted_deviation();
  second_moment_ = sums.second_moment();
}

Enclosure RowOracle::exponent_of(std::size_t i) const {
  const PrecisionScope scope(precision_ + exponent_guard_bits);
  return over_temperature(Enclosure(logits_[i]) - Enclosure(logits_[argmax_]));
}

Enclosure RowOracle::over_temperature(const Enclosure& logit) const {
  if (beta_) return logit * *beta_;
  return theta_ == 1 ? logit : logit / Enclosure(theta_);
}

bool RowOracle::is_visible(std::size_t i) const { return !is_masked(logits_.at(i)); }

void RowOracle::require_visible(const char* function) const {
  if (visible_ == 0) {
    throw std::logic_error(std::string("RowOracle::") + function + ": need a visible item, got a fully masked row");
  }
}

void RowOracle::require_visible_item(const char* function, std::size_t i) const {
  require_visible(function);
  if (i >= logits_.size() || is_masked(logits_[i])) {
    throw std::invalid_argument(std::string("RowOracle::") + function + ": need a visible item, got item " +
                                std::to_string(i));
  }
}

double RowOracle::maximum() const {
  require_visible("maximum");
  return logits_[argmax_];
}

std::size_t RowOracle::argmax() const {
  require_visible("argmax");
  return argmax_;
}

double RowOracle::minimum() const {
  require_visible("minimum");
  return logits_[argmin_];
}

Enclosure RowOracle::deviation(std::size_t i) const {
  require_visible_item("deviation", i);
  const PrecisionScope scope(precision_ + exponent_guard_bits);
  return -exponent_of(i);
}

const Enclosure& RowOracle::sum_minus_one() const {
  require_visible("sum_minus_one");
  return sum_minus_one_;
}

Enclosure RowOracle::sum() const { return sum_minus_one() + 1; }

const Enclosure& RowOracle::weighted_deviation() const {
  require_visible("weighted_deviation");
  return weighted_deviation_;
}

const Enclosure& RowOracle::second_moment() const {
  require_visible("second_moment");
  return second_moment_;
}

Enclosure RowOracle::softmax(std::size_t i) const {
  require_visible("softmax");
  if (i >= logits_.size()) {
    throw std::invalid_argument("RowOracle::softmax: need an item below " + std::to_string(logits_.size()) + ", got " +
                                std::to_string(i));
  }
  if (is_masked(logits_[i])) return Enclosure(0);
  return (weights_.empty() ? weight_of(exponent_of(i)) : weights_[i]) / sum();
}

Enclosure RowOracle::log_softmax(std::size_t i) const {
  require_visible_item("log_softmax", i);
  return exponent_of(i) - log1p(sum_minus_one_);
}

Enclosure RowOracle::logsumexp() const {
  require_visible("logsumexp");
  return over_temperature(Enclosure(logits_[argmax_])) + log1p(sum_minus_one_);
}

Enclosure RowOracle::entropy() const { return log1p(sum_minus_one()) + mean_deviation(); }
Enclosure RowOracle::mean_deviation() const { return weighted_deviation() / sum(); }
Enclosure RowOracle::mean_square_deviation() const { return second_moment() / sum(); }

Enclosure RowOracle::varentropy() const {
  // A variance is never negative.
  return numerics::maximum(mean_square_deviation() - square(mean_deviation()), Enclosure(0));
}

}  // namespace softcheck::numerics
