#include "judge/ops/rows/long_softmax.hpp"

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/ops/rows/long_error.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

using namespace long_error;

namespace {

static_assert(std::numeric_limits<long double>::digits >= 64 && std::numeric_limits<long double>::max_exponent >= 16384,
              "long double must hold products of doubles");

constexpr long double largest_error = 0x1p-10L;

// The GNU C library documents at most 2 ulps for expl and logl on x86-64 ("Errors in Math Functions"). Relative; one
// call per key of every query.
constexpr long double of_library = 4 * unit;

// tanh x with a relative error of at most 2^-63; the C library's errs by more.
long double tanh_by_mpfr(long double x) {
  mpfr_t number;
  mpfr_init2(number, std::numeric_limits<long double>::digits);
  mpfr_set_ld(number, x, MPFR_RNDN);
  mpfr_tanh(number, number, MPFR_RNDN);
  const long double result = mpfr_get_ld(number, MPFR_RNDN);
  mpfr_clear(number);
  return result;
}

// Exact also below the smallest double. x86-64's long double has 64 bits (two doubles), aarch64's 113 (three).
numerics::Enclosure exactly(long double x) {
  using numerics::Enclosure;
  int exponent = 0;
  const long double significand = std::frexp(x, &exponent);
  const auto high = static_cast<double>(significand);
  const long double rest = significand - static_cast<long double>(high);
  const auto middle = static_cast<double>(rest);
  const auto low = static_cast<double>(rest - static_cast<long double>(middle));
  return (Enclosure(high) + Enclosure(middle) + Enclosure(low)) * Enclosure::power_of_two(exponent);
}

}  // namespace

numerics::Enclosure LongApproximation::enclosure() const {
  if (!std::isfinite(value) || !std::isfinite(error)) {  // nothing is known
    return numerics::Enclosure::between(-numerics::infinity, numerics::infinity);
  }
  // If doubles suffice: the value in two, the error rounded upward.
  const auto high = static_cast<double>(value), low = static_cast<double>(value - high), off = long_error::above(error);
  if (std::isfinite(high) && std::isfinite(off) && value - high == low && (error == 0 || error > 0x1p-900L)) {
    const numerics::Enclosure sum =
        low == 0 ? numerics::Enclosure(high) : numerics::Enclosure(high) + numerics::Enclosure(low);
    return error == 0 ? sum : sum + numerics::Enclosure::between(-off, off);
  }
  const numerics::Enclosure exact_error = exactly(error);
  return exactly(value) + hull(-exact_error, exact_error);
}

LongApproximation capped_score(const LongApproximation& score, double softcap) {
  if (softcap == 0) return score;
  const auto cap = static_cast<long double>(softcap);
  const long double value = cap * tanh_by_mpfr(score.value / cap);
  // tanh has slope at most 1 and does not increase relative errors. Roundings: the quotient, tanh itself, the product.
  // Both values lie within the cap, even if the score's error is infinite.
  return {value, second_order * std::fmin(score.error + 4 * unit * std::fabs(value), 2 * cap)};
}

LongApproximation capped_slope(const LongApproximation& score, double softcap) {
  if (softcap == 0) return {1, 0};
  const LongApproximation capped = capped_score(score, softcap);
  const long double tangent = capped.value / static_cast<long double>(softcap);
  const long double error =
      second_order * (capped.error / static_cast<long double>(softcap) + unit * std::fabs(tangent));
  const long double size = std::fabs(tangent);
  // Both slopes lie in [0, 1].
  return {1 - tangent * tangent, second_order * std::fmin(2 * size * error + error * error + 2 * unit, 1.0L)};
}

LongApproximation shifted_score(const LongApproximation& score, double slope, double distance, double bias) {
  if (slope == 0 && bias == 0) return score;
  const long double shift = static_cast<long double>(slope) * static_cast<long double>(distance);
  const long double first = score.value - shift, value = first + static_cast<long double>(bias);
  const long double sizes = std::fabs(shift) + std::fabs(first) + std::fabs(value);
  return {value, second_order * (score.error + unit * sizes)};
}

LongSoftmax::LongSoftmax(std::span<const LongApproximation> logits) {
  const auto highest = std::ranges::max_element(logits, {}, &LongApproximation::value);
  reference_ = *highest;
  deviations_.reserve(logits.size());
  for (const LongApproximation& logit : logits) {
    const long double deviation = reference_.value - logit.value;
    const bool same = &logit == &*highest;
    const long double error = same ? 0.0L : second_order * (logit.error + reference_.error + unit * deviation);
    deviations_.push_back({deviation, error});
  }
  add_up();
}

LongSoftmax::LongSoftmax(std::vector<LongApproximation> deviations, const LongApproximation& reference)
    : reference_(reference), deviations_(std::move(deviations)) {
  add_up();
}

LongSoftmax LongSoftmax::sharpened(const LongApproximation& beta) const {
  const auto times = [&](const LongApproximation& x) {
    const long double product = beta.value * x.value;
    return LongApproximation{
        product, second_order * (beta.value * x.error + std::fabs(x.value) * beta.error + unit * std::fabs(product))};
  };
  std::vector<LongApproximation> deviations;
  deviations.reserve(size());
  for (const LongApproximation& deviation : deviations_) deviations.push_back(times(deviation));
  return LongSoftmax(std::move(deviations), times(reference_));
}

void LongSoftmax::add_up() {
  const auto n = static_cast<long double>(size());
  const long double sums = (n + 4) * unit;
  usable_ = true;
  long double error = 0;
  weights_.reserve(size());
  weight_errors_.reserve(size());
  for (const LongApproximation& deviation : deviations_) {
    // Beyond this the exponential and its error are below 2^-16000.
    const bool gone = deviation.value - deviation.error > 11300;
    const long double weight = gone ? 0 : std::exp(-deviation.value);
    if (!gone && !(deviation.error < largest_error)) usable_ = false;
    weights_.push_back(weight);
    weight_errors_.push_back(gone ? 0.0L : second_order * (deviation.error + of_library + sums));
    sum_ += weight;
    error += weight * weight_errors_.back();
    slack_ = std::max(slack_, gone ? 0.0L : deviation.error - deviation.value);
  }
  inverse_ = 1 / sum_;
  sum_error_ = second_order * (error * inverse_ + n * lost);
}

LongApproximation LongSoftmax::maximum() const { return {reference_.value, reference_.error + slack_}; }

LongApproximation LongSoftmax::deviation(std::size_t j) const {
  return {deviations_[j].value, deviations_[j].error + slack_};
}

// (sum of weights times terms) / S.
LongApproximation LongSoftmax::over_sum(long double numerator, long double numerator_error) const {
  const long double quotient = numerator * inverse_;
  return {quotient, second_order * (numerator_error * inverse_ + std::fabs(quotient) * (sum_error_ + 3 * unit))};
}

LongApproximation LongSoftmax::coefficient(std::size_t j) const {
  return over_sum(weights_[j], weights_[j] * weight_errors_[j] + lost);
}

LongApproximation LongSoftmax::log_sum() const {
  const long double logarithm = std::log(sum_);
  return {logarithm, second_order * (sum_error_ + of_library * std::fabs(logarithm))};
}

LongApproximation LongSoftmax::logsumexp() const {
  const LongApproximation logarithm = log_sum();
  const long double value = reference_.value + logarithm.value;
  return {value, second_order * (reference_.error + logarithm.error + unit * std::fabs(value))};
}

LongApproximation LongSoftmax::mean_deviation() const {
  long double total = 0;
  long double error = 0;
  for (std::size_t j = 0; j < size(); ++j) {
    const long double term = weights_[j] * deviations_[j].value;
    total += term;
    error += std::fabs(term) * weight_errors_[j] + weights_[j] * (deviations_[j].error + slack_) + lost;
  }
  return over_sum(total, second_order * error);
}

LongApproximation LongSoftmax::mean_square_deviation() const {
  long double total = 0;
  long double error = 0;
  for (std::size_t j = 0; j < size(); ++j) {
    const auto& [deviation, deviation_error] = deviations_[j];
    const long double term = weights_[j] * deviation * deviation;
    total += term;
    const long double moved = deviation_error + slack_;
    error += term * (weight_errors_[j] + unit) + weights_[j] * moved * (2 * std::fabs(deviation) + moved) + lost;
  }
  return over_sum(total, second_order * error);
}

LongApproximation LongSoftmax::entropy() const {
  // ln S and T / S relative to item r; their sum does not depend on r.
  const LongApproximation logarithm = log_sum(), mean = mean_deviation();
  const long double value = logarithm.value + mean.value;
  return {value, second_order * (logarithm.error + mean.error + unit * std::fabs(value))};
}

LongApproximation LongSoftmax::entropy_with_epsilon() const {
  constexpr long double epsilon = 1e-9L;  // up to one roundoff
  long double total = 0;
  long double error = 0, sizes = 0;
  for (std::size_t j = 0; j < size(); ++j) {
    const LongApproximation p = coefficient(j);
    const long double moved = p.value + epsilon, logarithm = std::log(moved);
    const long double term = p.value * logarithm;
    const long double relative = p.error / moved + 3 * unit;
    total -= term;
    sizes += std::fabs(term);
    error += p.error * std::fabs(logarithm) + p.value * (relative + of_library * std::fabs(logarithm));
  }
  return {total, second_order * (error + (static_cast<long double>(size()) + 1) * unit * sizes)};
}

}  // namespace softcheck::proptests
