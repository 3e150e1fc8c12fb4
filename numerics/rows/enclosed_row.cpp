#include "numerics/rows/enclosed_row.hpp"

#include <stdexcept>
#include <string>

#include "numerics/rows/deviation_sums.hpp"

namespace softcheck::numerics {
namespace {

// To compute one exponential per run of equal logits.
bool is_same(const Enclosure& a, const Enclosure& b) {
  return mpfr_equal_p(&a.data()->left, &b.data()->left) != 0 && mpfr_equal_p(&a.data()->right, &b.data()->right) != 0;
}

}  // namespace

EnclosedRow::EnclosedRow(std::vector<std::optional<Enclosure>> logits) : exponents_(std::move(logits)) {
  for (std::size_t i = 0; i < exponents_.size(); ++i) {
    if (!exponents_[i]) continue;
    if (!mpfi_bounded_p(exponents_[i]->data())) {
      throw std::invalid_argument("EnclosedRow: logits must be bounded, got " + exponents_[i]->to_string());
    }
    const bool higher =
        visible_ == 0 || mpfr_greater_p(&exponents_[i]->data()->right, &exponents_[reference_]->data()->right);
    if (higher) reference_ = i;
    ++visible_;
  }
  if (visible_ == 0) return;
  reference_logit_ = *exponents_[reference_];
  {
    const PrecisionScope guard(working_precision() + exponent_guard_bits);
    for (auto& exponent : exponents_) {
      if (exponent) *exponent -= reference_logit_;
    }
    exponents_[reference_] = Enclosure(0);
  }
  add_up();
}

void EnclosedRow::add_up() {
  const FpEnvironmentGuard environment;
  DeviationSums sums(visible_);
  weights_.assign(exponents_.size(), std::nullopt);
  highest_ = Enclosure(0);
  for (std::size_t i = 0; i < exponents_.size(); ++i) {
    if (!exponents_[i]) continue;
    const bool repeats = i > 0 && exponents_[i - 1] && is_same(*exponents_[i], *exponents_[i - 1]);
    weights_[i] = repeats ? *weights_[i - 1] : weight_of(*exponents_[i]);
    if (!repeats) highest_ = numerics::maximum(highest_, *exponents_[i]);
    if (i != reference_) sums.add(*exponents_[i], *weights_[i]);
  }
  sum_minus_one_ = sums.sum();
  weighted_deviation_ = sums.weighted_deviation();
}

void EnclosedRow::require_visible(const char* function) const {
  if (visible_ == 0) {
    throw std::logic_error(std::string("EnclosedRow::") + function + ": need a visible item, got a fully masked row");
  }
}

Enclosure EnclosedRow::maximum() const {
  require_visible("maximum");
  return reference_logit_ + highest_;
}

Enclosure EnclosedRow::logit(std::size_t i) const {
  if (!is_visible(i)) throw std::invalid_argument("EnclosedRow::logit: need a visible item, got " + std::to_string(i));
  return reference_logit_ + *exponents_[i];
}

Enclosure EnclosedRow::softmax(std::size_t i) const {
  require_visible("softmax");
  return is_visible(i) ? *weights_[i] / (sum_minus_one_ + 1) : Enclosure(0);
}

Enclosure EnclosedRow::log_softmax(std::size_t i) const {
  if (!is_visible(i)) {
    throw std::invalid_argument("EnclosedRow::log_softmax: need a visible item, got " + std::to_string(i));
  }
  return *exponents_[i] - log1p(sum_minus_one_);
}

Enclosure EnclosedRow::logsumexp() const {
  require_visible("logsumexp");
  return reference_logit_ + log1p(sum_minus_one_);
}

Enclosure EnclosedRow::entropy() const {
  require_visible("entropy");
  return log1p(sum_minus_one_) + weighted_deviation_ / (sum_minus_one_ + 1);
}

EnclosedRow EnclosedRow::scaled(const Enclosure& beta) const {
  EnclosedRow result = *this;
  if (visible_ == 0) return result;
  {
    const PrecisionScope guard(working_precision() + exponent_guard_bits);
    for (auto& exponent : result.exponents_) {
      if (exponent) *exponent *= beta;
    }
    result.reference_logit_ *= beta;
  }
  result.add_up();
  return result;
}

}  // namespace softcheck::numerics
