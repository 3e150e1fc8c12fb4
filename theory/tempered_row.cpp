#include "theory/tempered_row.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "numerics/rows/deviation_sums.hpp"

namespace softcheck::theory {

using numerics::Enclosure;

void require_theta(const char* function, double theta) {
  if (theta > 0 && std::isfinite(theta)) return;
  throw std::invalid_argument(std::string(function) + ": theta must be > 0 and finite, got " + std::to_string(theta));
}

TemperedRow::TemperedRow(const LevelRow& row, const Enclosure& beta) : items_(count_as<Enclosure>(row.visible())) {
  numerics::DeviationSums sums(row.visible());
  bool first = true;
  for (const Level& level : row.levels()) {
    counts_.push_back(count_as<Enclosure>(level.count));
    deviations_.push_back(beta * difference(row.largest(), level.logit));
    rises_.push_back(beta * difference(level.logit, row.smallest()));
    const Enclosure exponent = -deviations_.back();
    weights_.push_back(numerics::weight_of(exponent));
    sums.add(exponent, weights_.back(), level.count - (first ? 1 : 0));
    first = false;
  }
  const Enclosure sum_minus_one = sums.sum();
  sum_ = 1 + sum_minus_one;
  log_sum_ = log1p(sum_minus_one);
  mean_deviation_ = sums.weighted_deviation() / sum_;
}

Enclosure TemperedRow::variance() const {
  Enclosure result;
  if (levels() == 1) return result;
  for (std::size_t j = 0; j < levels(); ++j) {
    result += counts_[j] * weights_[j] * square(deviations_[j] - mean_deviation_);
  }
  return result / sum_;
}

std::optional<double> magnifying_logit(const LevelRow& row, const Enclosure& beta) {
  if (row.all_equal()) return std::nullopt;
  const double second = row.levels()[1].logit;
  // exp(-600) is well inside double's range, and MPFR's; any number of this size would do.
  const Enclosure exponent = beta * difference(row.largest(), second);
  if (exponent.lower_double() < 600) return std::nullopt;
  return second;
}

namespace {

// b (M - x) at b = beta + step, less the exponent of the magnification, beta (M - magnifying): as two terms >= 0.
Enclosure magnified_exponent(const LevelRow& row, double logit, const BetaStep& at,
                             const std::optional<double>& magnifying) {
  const Enclosure b = at.beta + at.step;
  if (!magnifying) return b * difference(row.largest(), logit);
  return at.step * difference(row.largest(), *magnifying) + b * difference(*magnifying, logit);
}

// 1 / magnification.
Enclosure reciprocal(const LevelRow& row, const BetaStep& at, const std::optional<double>& magnifying) {
  return magnifying ? exp(-(at.beta * difference(row.largest(), *magnifying))) : Enclosure(1);
}

// log1p(s r) / s for s in (0, 1], r >= 0.
Enclosure magnified_log1p(const Enclosure& ratio, const Enclosure& s, bool magnified) {
  if (!magnified) return log1p(ratio);
  const Enclosure x = s * ratio;
  if (x.lower_double() > 0) return log1p(x) / s;
  // 1 - x/2 <= log1p(x)/x <= 1
  return ratio * hull(1 - x / 2, Enclosure(1));
}

}  // namespace

Enclosure excess_entropy(const LevelRow& row, const BetaStep& at, const std::optional<double>& magnifying) {
  const Enclosure shared = count_as<Enclosure>(row.levels().front().count), b = at.beta + at.step;
  Enclosure sum, moment;
  for (const Level& level : row.levels().subspan(1)) {
    const Enclosure weight =
        count_as<Enclosure>(level.count) * exp(-magnified_exponent(row, level.logit, at, magnifying)) / shared;
    sum += weight;
    moment += weight * b * difference(row.largest(), level.logit);
  }
  const Enclosure s = reciprocal(row, at, magnifying);
  return magnified_log1p(sum, s, magnifying.has_value()) + moment / (1 + s * sum);
}

Enclosure entropy_drop(const LevelRow& row, const BetaStep& betas) {
  if (row.all_equal()) return {};
  const auto magnifying = magnifying_logit(row, betas.beta);
  const BetaStep start{betas.beta, Enclosure(0)};
  const Enclosure direct = excess_entropy(row, start, magnifying) - excess_entropy(row, betas, magnifying);
  // All weights at once for every b of the step: they fall with b.
  const Enclosure shared = count_as<Enclosure>(row.levels().front().count);
  const Enclosure s = reciprocal(row, betas, magnifying);
  Enclosure sum, squares;
  for (const Level& level : row.levels().subspan(1)) {
    const Enclosure weight =
        count_as<Enclosure>(level.count) * hull(exp(-magnified_exponent(row, level.logit, start, magnifying)),
                                                exp(-magnified_exponent(row, level.logit, betas, magnifying)));
    sum += weight;
    squares += weight * square(difference(row.largest(), level.logit));
  }
  const Enclosure total = shared + s * sum;
  const Enclosure upper = squares / total;
  // Var = 1/2 sum sum p_i p_j (x_i - x_j)^2 is at least what its pairs with the K items at the maximum contribute.
  const Enclosure variance = hull(upper * shared / total, upper);
  return intersection(direct, betas.step * (2 * betas.beta + betas.step) / 2 * variance);
}

}  // namespace softcheck::theory
