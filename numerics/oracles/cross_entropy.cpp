#include "numerics/oracles/cross_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "numerics/formats/special_values.hpp"

namespace softcheck::numerics {
namespace {

template <class T>
T size_of(const Enclosure& x) {
  return bound_of<T>(abs(x));
}

void require_classes(std::span<const double> logits, std::size_t label, std::span<const double> weights,
                     double smoothing) {
  const std::string function = "CrossEntropyOracle: ";
  if (label >= logits.size()) {
    throw std::invalid_argument(function + "need a label below " + std::to_string(logits.size()) + ", got " +
                                std::to_string(label));
  }
  if (!weights.empty() && weights.size() != logits.size()) {
    throw std::invalid_argument(function + "need " + std::to_string(logits.size()) + " class weights or none, got " +
                                std::to_string(weights.size()));
  }
  for (std::size_t j = 0; j < logits.size(); ++j) {
    const double weight = weights.empty() ? 1 : weights[j];
    if (!(weight >= 0) || !std::isfinite(weight)) {
      throw std::invalid_argument(function + "need finite class weights >= 0, got " + std::to_string(weight));
    }
    const bool masked = logits[j] == -infinity;
    if (masked ? j == label || smoothing * weight != 0 : !std::isfinite(logits[j])) {
      throw std::invalid_argument(function + "need logits finite, or -inf where the loss does not meet them, got " +
                                  std::to_string(logits[j]) + " at " + std::to_string(j));
    }
  }
}

std::optional<Enclosure> capped_logit(double logit, double cap) {
  if (logit == -infinity) return std::nullopt;
  const Enclosure c(cap);
  return c * tanh(Enclosure(logit) / c);
}

EnclosedRow capped_row(std::span<const double> logits, double cap) {
  std::vector<std::optional<Enclosure>> row;
  row.reserve(logits.size());
  // Long rows have runs of equal logits.
  for (std::size_t i = 0; i < logits.size(); ++i) {
    row.push_back(i > 0 && logits[i] == logits[i - 1] ? row.back() : capped_logit(logits[i], cap));
  }
  return EnclosedRow(std::move(row));
}

}  // namespace

CrossEntropyOracle::CrossEntropyOracle(std::span<const double> logits, std::size_t label,
                                       const CrossEntropyOptions& options, std::span<const double> weights)
    : logits_(logits.begin(), logits.end()),
      weights_(weights.begin(), weights.end()),
      label_(label),
      options_(options) {
  const FpEnvironmentGuard environment;
  require_options(options);
  require_classes(logits, label, weights, options.label_smoothing);
  if (options.softcap == 0) {
    plain_.emplace(logits, options.theta);
  } else {
    capped_.emplace(capped_row(logits, options.softcap));
  }
  mean_weight_ = Enclosure(1);
  if (options.label_smoothing == 0) return;
  Enclosure sum(0);
  for (std::size_t j = 0; j < size(); ++j) {
    if (weight(j) == 0) continue;
    const Enclosure w(weight(j));
    sum = sum + w;
    mean_deviation_ = mean_deviation_ + w * deviation(j);
    mean_magnitude_ = mean_magnitude_ + w * abs(logit(j));
  }
  mean_weight_ = sum / classes();
  mean_deviation_ = mean_deviation_ / classes();
  mean_magnitude_ = mean_magnitude_ / classes();
}

bool CrossEntropyOracle::is_masked(std::size_t j) const { return logits_.at(j) == -infinity; }

Enclosure CrossEntropyOracle::logit(std::size_t j) const {
  return plain_ ? Enclosure(logits_[j]) / Enclosure(options_.theta) : capped_->logit(j);
}

Enclosure CrossEntropyOracle::maximum() const {
  return plain_ ? Enclosure(plain_->maximum()) / Enclosure(options_.theta) : capped_->maximum();
}

Enclosure CrossEntropyOracle::deviation(std::size_t j) const {
  if (plain_) return plain_->deviation(j);
  return numerics::maximum(maximum() - logit(j), Enclosure(0));
}

Enclosure CrossEntropyOracle::logsumexp() const { return plain_ ? plain_->logsumexp() : capped_->logsumexp(); }

Enclosure CrossEntropyOracle::softmax(std::size_t j) const { return plain_ ? plain_->softmax(j) : capped_->softmax(j); }

Enclosure CrossEntropyOracle::target_negative_log() const {
  return -(plain_ ? plain_->log_softmax(label_) : capped_->log_softmax(label_));
}

Enclosure CrossEntropyOracle::smoothing() const { return Enclosure(options_.label_smoothing); }

Enclosure CrossEntropyOracle::classes() const { return Enclosure::integer(options_.summed ? 1 : size()); }

Enclosure CrossEntropyOracle::loss_metric() const {
  Enclosure sum = (1 - smoothing()) * Enclosure(weight(label_)) * target_negative_log();
  if (options_.label_smoothing != 0) {
    const Enclosure log_sum = plain_ ? log1p(plain_->sum_minus_one()) : logsumexp() - maximum();
    sum = sum + smoothing() * (mean_deviation_ + mean_weight_ * log_sum);
  }
  return options_.z_loss == 0 ? sum : sum + Enclosure(options_.z_loss) * square(logsumexp());
}

// z >= 0, so all terms have one sign.
Enclosure CrossEntropyOracle::loss() const { return loss_metric(); }

Enclosure CrossEntropyOracle::alpha() const {
  return (1 - smoothing()) * Enclosure(weight(label_)) + smoothing() * mean_weight_ +
         2 * Enclosure(options_.z_loss) * logsumexp();
}

Enclosure CrossEntropyOracle::subtrahend(std::size_t j) const {
  const Enclosure smooth = smoothing() * Enclosure(weight(j)) / classes();
  return j == label_ ? smooth + (1 - smoothing()) * Enclosure(weight(j)) : smooth;
}

Enclosure CrossEntropyOracle::slope(std::size_t j) const {
  if (plain_ || is_masked(j)) return Enclosure(1);
  return 1 - square(logit(j) / Enclosure(options_.softcap));
}

Enclosure CrossEntropyOracle::gradient(std::size_t j, const Enclosure& upstream) const {
  return upstream * (alpha() * softmax(j) - subtrahend(j)) * slope(j) / Enclosure(options_.theta);
}

template <class T>
CrossEntropyRow<T> CrossEntropyOracle::row(std::uint64_t rescalings) const {
  CrossEntropyRow<T> row;
  if (plain_) {
    row.statistics = row_statistics<T>(*plain_, rescalings, options_.theta);
  } else {
    const Enclosure log_sum = numerics::maximum(logsumexp() - maximum(), Enclosure(0));
    RowStatistics<T>& s = row.statistics;
    s.size = size();
    s.visible = capped_->visible();
    s.rescalings = rescalings;
    s.log_sum = size_of<T>(log_sum);
    s.mean_deviation = size_of<T>(numerics::maximum(capped_->entropy() - log_sum, Enclosure(0)));
    // (2) of docs/tolerances.md: V2 <= ln^2(n + e).
    s.mean_square_deviation = size_of<T>(square(log(Enclosure::integer(s.visible) + exp(Enclosure(1)))));
    s.maximum_magnitude = size_of<T>(maximum());
    s.largest_magnitude = T(options_.softcap);  // |x| < c
    s.logsumexp_magnitude = size_of<T>(logsumexp());
  }
  row.target_deviation = size_of<T>(deviation(label_));
  row.target_weight = T(weight(label_));
  row.weighted = !weights_.empty();
  row.mean_weight = size_of<T>(mean_weight_);
  row.mean_deviation = size_of<T>(mean_deviation_);
  row.mean_magnitude = size_of<T>(mean_magnitude_);
  row.loss_magnitude = size_of<T>(loss());
  return row;
}

template <class T>
CrossEntropyElement<T> CrossEntropyOracle::element(std::size_t j) const {
  CrossEntropyElement<T> element;
  element.coefficient = size_of<T>(softmax(j));
  if (!is_masked(j)) element.deviation = size_of<T>(deviation(j));
  element.subtrahend = size_of<T>(subtrahend(j));
  element.difference = size_of<T>(alpha() * softmax(j) - subtrahend(j));
  if (capped_ && !is_masked(j)) {
    element.cap_slope = size_of<T>(slope(j));
    element.cap_square = size_of<T>(square(logit(j) / Enclosure(options_.softcap)));
  }
  return element;
}

template CrossEntropyRow<UpperBound> CrossEntropyOracle::row<UpperBound>(std::uint64_t) const;
template CrossEntropyRow<Enclosure> CrossEntropyOracle::row<Enclosure>(std::uint64_t) const;
template CrossEntropyElement<UpperBound> CrossEntropyOracle::element<UpperBound>(std::size_t) const;
template CrossEntropyElement<Enclosure> CrossEntropyOracle::element<Enclosure>(std::size_t) const;

}  // namespace softcheck::numerics
