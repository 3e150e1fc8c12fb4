#include "proptests/tensors/exact_row.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "numerics/adaptive_oracle.hpp"
#include "numerics/row_cascade.hpp"
#include "numerics/row_oracle.hpp"
#include "numerics/special_values.hpp"
#include "proptests/judge/judged_row.hpp"
#include "proptests/judge/sharpened_row.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

constexpr unsigned first_precision = 113;
constexpr std::array<unsigned, 2> later_precisions{256, 512};

void fill(std::span<double> lower, std::span<double> upper, const DoubleBounds& bounds) {
  std::ranges::fill(lower, bounds.lower);
  std::ranges::fill(upper, bounds.upper);
}

// A value from the sums of the second stage, some 90 bits; where terms cancel, from oracles.
template <class Oracle>
class Refined {
 public:
  explicit Refined(std::function<Oracle()> make) : make_(std::move(make)) {}

  template <class Value>
  DoubleBounds operator()(const Enclosure& near, Value&& value) {
    if (is_narrow(near)) return bounds_of(near);
    Enclosure best = near;
    for (const unsigned precision : later_precisions) {
      const PrecisionScope scope(precision);
      auto found = oracles_.find(precision);
      if (found == oracles_.end()) found = oracles_.emplace(precision, make_()).first;
      best = value(found->second);
      if (is_narrow(best)) break;
    }
    return bounds_of(best);
  }

 private:
  std::function<Oracle()> make_;
  std::map<unsigned, Oracle> oracles_;
};

void exact_adaptive(const Contract& contract, std::span<const double> logits, std::span<double> lower,
                    std::span<double> upper) {
  const EntropyDefinition definition =
      contract.entropy == EntropyForm::paper ? EntropyDefinition::paper : EntropyDefinition::exact;
  RowCascade plain(logits, 1);
  const SharpenedRow sharp(plain, logits, definition);
  Refined<AdaptiveRowOracle> refined([&] { return AdaptiveRowOracle(logits, definition); });
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isinf(logits[i])) continue;
    const DoubleBounds of =
        refined(sharp.softmax(i), [i](const AdaptiveRowOracle& oracle) { return oracle.softmax(i); });
    lower[i] = of.lower;
    upper[i] = of.upper;
  }
}

void exact_visible_row(Op op, std::span<const double> logits, double theta, std::span<double> lower,
                       std::span<double> upper) {
  RowCascade cascade(logits, theta);
  const ExactSums sums(cascade);
  const Enclosure maximum(cascade.statistics().maximum), sum = sums.sum_minus_one + 1,
                                                         log_sum = log1p(sums.sum_minus_one);
  Refined<RowOracle> refined([&] { return RowOracle(logits, theta); });
  if (op == Op::logsumexp) {
    const Enclosure near = maximum / Enclosure(theta) + log_sum;
    return fill(lower, upper, refined(near, [](const RowOracle& oracle) { return oracle.logsumexp(); }));
  }
  if (op == Op::entropy) {
    const Enclosure near = log_sum + sums.weighted_deviation / sum;
    return fill(lower, upper, refined(near, [](const RowOracle& oracle) { return oracle.entropy(); }));
  }
  const bool logarithms = op == Op::log_softmax;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isinf(logits[i])) continue;
    const Enclosure exponent = (Enclosure(logits[i]) - maximum) / Enclosure(theta);
    const DoubleBounds of =
        refined(logarithms ? exponent - log_sum : exp(exponent) / sum,
                [&](const RowOracle& oracle) { return logarithms ? oracle.log_softmax(i) : oracle.softmax(i); });
    lower[i] = of.lower;
    upper[i] = of.upper;
  }
}

}  // namespace

bool is_narrow(const Enclosure& value) {
  double end = value.lower_double();
  for (int k = 0; k < 4; ++k) end = std::nextafter(end, infinity);
  return value.upper_double() <= end;
}

DoubleBounds bounds_of(const Enclosure& value) { return {value.lower_double(), value.upper_double()}; }

void exact_row(Op op, const Contract& contract, std::span<const double> logits, double theta, std::span<double> lower,
               std::span<double> upper) {
  const PrecisionScope precision(first_precision);
  const double masked = op == Op::log_softmax ? -infinity : 0;
  fill(lower, upper, {masked, masked});
  if (std::ranges::find(logits, infinity) != logits.end()) {
    // They share all weight.
    if (op == Op::logsumexp) return fill(lower, upper, {infinity, infinity});
    std::vector<double> limit;
    for (const double logit : logits) limit.push_back(logit == infinity ? 0 : -infinity);
    return exact_row(op, contract, limit, theta, lower, upper);
  }
  if (op == Op::adaptive_softmax) return exact_adaptive(contract, logits, lower, upper);
  exact_visible_row(op, logits, theta, lower, upper);
}

void exact_masked_row(Op op, MaskedRows masked, std::size_t n, std::span<double> lower, std::span<double> upper) {
  const PrecisionScope precision(first_precision);
  if (op == Op::logsumexp) return fill(lower, upper, {-infinity, -infinity});
  if (masked == MaskedRows::nan) return fill(lower, upper, {nan, nan});
  const bool uniform = masked == MaskedRows::uniform && n > 0;
  const double nothing = op == Op::log_softmax ? -infinity : 0;
  if (!uniform) return fill(lower, upper, {nothing, nothing});
  const Enclosure logarithm = log(Enclosure::integer(n));
  const Enclosure value = op == Op::entropy       ? logarithm
                          : op == Op::log_softmax ? -logarithm
                                                  : Enclosure(1) / Enclosure::integer(n);
  fill(lower, upper, bounds_of(value));
}

}  // namespace softcheck::proptests
