// softmax: the cascade decides every element. Its quickest stage gives the errors and chooses the element to show.
#include <algorithm>
#include <array>
#include <cmath>

#include "judge/ops/rows/argument_form.hpp"
#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/result_limits.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "numerics/filter/certified_sum.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/flushed_output.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

/// softmax(logits / theta), accurate far beyond the format's last place.
std::vector<long double> coefficients(const JudgedRow& row, RowCascade& cascade,
                                      std::span<const ProbabilityBounds> bounds) {
  std::vector<long double> values(row.logits.size(), 0);
  if (properties(row.contract.output).precision <= 24) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.5 * (bounds[i].lower + bounds[i].upper);
    return values;
  }
  const PrecisionScope precision(113);
  const long double sum = nearest(ExactSums(cascade).sum_minus_one + 1);
  const long double maximum = cascade.statistics().maximum, theta = row.theta;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(row.logits[i])) values[i] = std::exp((row.logits[i] - maximum) / theta) / sum;
  }
  return values;
}

/// The exact value in a certificate.
Enclosure expected_element(const JudgedRow& row, RowCascade& cascade, std::span<const ProbabilityBounds> bounds,
                           std::size_t i) {
  if (std::isinf(row.logits[i])) return Enclosure(0);
  if (properties(row.contract.output).precision <= 24) return Enclosure::between(bounds[i].lower, bounds[i].upper);
  const Enclosure gap = Enclosure(row.logits[i]) - Enclosure(cascade.statistics().maximum);
  return exp(gap / Enclosure(row.theta)) / (ExactSums(cascade).sum_minus_one + 1);
}

/// The threshold that the cascade used for item i, from an enclosure p of the coefficient.
Enclosure allowed_error(const ElementTolerance& tolerance, const JudgedRow& row, double maximum, const Enclosure& p,
                        std::size_t i) {
  const bool masked = std::isinf(row.logits[i]);
  const Enclosure deviation =
      masked ? Enclosure(0) : (Enclosure(maximum) - Enclosure(row.logits[i])) / Enclosure(row.theta);
  const Enclosure relative = Enclosure(tolerance.relative) + Enclosure(tolerance.per_deviation) * deviation;
  return relative * p + Enclosure(tolerance.absolute) + Enclosure(row.got[i] == 0 ? tolerance.flushed : 0);
}

/// Sets the exact value and the threshold of the shown item, consistent with the verdict.
void show_element(const JudgedRow& row, RowCascade& cascade, std::span<const ProbabilityBounds> bounds,
                  const ElementTolerance& tolerance, ValueFinding& finding) {
  const std::size_t i = *finding.item;
  finding.expected = expected_element(row, cascade, bounds, i);
  const Enclosure allowed = allowed_error(tolerance, row, cascade.statistics().maximum, finding.expected, i);
  finding.threshold = finding.decision == Decision::violated ? allowed.lower_double() : allowed.upper_double();
}

void judge_coefficients(const JudgedRow& row, RowCascade& cascade, const Statistics& statistics,
                        RowVerdicts& verdicts) {
  const auto threshold = softmax_error(row.contract, statistics);
  const auto plain = softmax_error(row.contract, statistics, Grants::none);
  const std::string_view claim = "kernel.softmax.element";
  const double constant = upper(threshold.constant), slope = upper(threshold.slope), floor = upper(threshold.floor);
  const double plain_constant = upper(plain.constant), plain_slope = upper(plain.slope);
  const bool promised = is_promise(threshold);
  const bool resolved = is_resolved(row.contract, statistics);
  const double maximum = cascade.statistics().maximum;
  const std::vector<ProbabilityBounds> bounds = filter_softmax(row.logits, cascade.statistics());
  const std::vector<long double> exact = coefficients(row, cascade, bounds);
  const auto allowed_at = [&](std::size_t i) {
    const double deviation = std::isfinite(row.logits[i]) ? (maximum - row.logits[i]) / row.theta : 0;
    const double allowed = (constant + slope * deviation) * bounds[i].upper + floor;
    return threshold_of_result(row.contract, allowed, row.got[i]);
  };

  ValueFinding finding{claim, 0, Enclosure(0), 0, 0, Decision::proved, {}, false};
  double largest = -1;
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    if (std::isinf(row.logits[i])) continue;
    const double deviation = (maximum - row.logits[i]) / row.theta;
    const bool vacuous = !promised || !(plain_constant + plain_slope * deviation < 1);
    const bool counted = verdicts.vacuity.add(row.contract, bounds[i].lower, resolved ? 0 : infinity, vacuous);
    const auto error = static_cast<double>(row.got[i] - exact[i]);
    const double allowed = allowed_at(i);
    if (counted) finding.errors.add(row.contract.output, static_cast<double>(exact[i]), error, i, allowed);
    const double used = !std::isfinite(row.got[i]) ? infinity : allowed > 0 ? std::fabs(error) / allowed : 0;
    if (!(used > largest)) continue;
    largest = used;
    finding.item = i;
  }
  const auto excess = [&](std::size_t i) {
    return coefficient_overshoot(row.contract, statistics, next_above((maximum - row.logits[i]) / row.theta));
  };
  verdicts.vacuity.add_row(!promised, resolved);
  const bool overflow = !promised && may_overflow(row);
  // Under exp_floor= the cascade judges masked items, too.
  const bool is_zero = !overflow && row.contract.least_exp == 0;
  const auto masked = is_zero ? masked_item_that_is_not(0, claim, row) : std::nullopt;
  if (const auto found = masked ? masked : coefficient_out_of_range(claim, row, excess)) {
    verdicts.findings.push_back(*found);
    return;
  }
  if (!promised) {
    const auto stray = std::ranges::find_if(row.got, [](double value) { return !std::isfinite(value); });
    if (stray == row.got.end()) return;
    const auto i = static_cast<std::size_t>(stray - row.got.begin());
    const auto broken =
        broken_limit(claim, i, row.contract, *stray, Enclosure::between(0, 1), {.may_overflow = overflow});
    if (broken) verdicts.findings.push_back(*broken);
    return;
  }
  const ElementTolerance tolerance = tolerance_of(row.contract, threshold);
  const RowJudgement judgement = cascade.judge_softmax(row.got, tolerance);
  if (!judgement.undecided.empty()) finding.item = judgement.undecided.front();
  if (!judgement.violated.empty()) finding.item = judgement.violated.front();
  const PrecisionScope precision(113);
  finding.got = row.got[*finding.item];
  finding.decision = judgement.row();
  show_element(row, cascade, bounds, tolerance, finding);
  verdicts.findings.push_back(std::move(finding));
}

void judge_row_total(const JudgedRow& row, const Statistics& statistics, RowVerdicts& verdicts) {
  const double threshold = granted_sum(row.contract, statistics, row.logits, row.got);
  if (!std::isfinite(threshold)) return;
  const auto stray = std::ranges::find_if(row.got, [](double value) { return !std::isfinite(value); });
  double total = stray == row.got.end() ? certified_sum(row.got).value : *stray;
  if (stray == row.got.end() && !std::isfinite(total)) total = infinity;  // larger than any double
  verdicts.findings.push_back({"kernel.softmax.row_sum",
                               std::nullopt,
                               Enclosure(1),
                               total,
                               threshold,
                               judge_row_sum(row.got, threshold),
                               {},
                               false});
}

/// A lower bound of the number >= 0 that `computed` approximates after at most six roundings to double, each with a
/// relative error of 2^-53; with this product seven, together below 2^-50. An underflow errs by half a subnormal unit:
/// subtract two units.
double rounded_down(double computed) { return std::fmax(0, next_below(next_below(computed * (1 - 0x1p-50)))); }

/// A lower bound of the tolerance for a nonzero result.
///
/// deviation   D within two roundings          coefficient   a lower bound of p
double at_least(const ElementTolerance& tolerance, double deviation, double coefficient) {
  const double relative = tolerance.relative + tolerance.per_deviation * deviation;
  return rounded_down((std::isfinite(relative) ? relative * coefficient : 0) + tolerance.absolute);
}

class Softmax final : public RowOp {
  static ArgumentThreshold threshold(const Contract& contract, const Statistics& statistics) {
    const auto element = softmax_error(contract, statistics);
    const double sum = upper(row_sum_error(contract, statistics).total());
    return {upper(element.constant), upper(element.slope), threshold_of_result(contract, upper(element.floor), 1),
            threshold_of_sum(contract, sum, statistics.visible, 0)};
  }
  static constexpr ArgumentForm form{ArgumentValue::coefficient, &threshold};
  static constexpr std::array inputs{OpInput{Role::logits}};
  static constexpr std::array<std::string_view, 1> outputs{"output"};
  static constexpr std::array<std::string_view, 2> claims{"kernel.softmax.element", "kernel.softmax.row_sum"};
  static constexpr std::array<std::string_view, 5> words{"weights", "total", "theta", "differences", "exp_floor"};

 public:
  constexpr Softmax()
      : RowOp({.name = "softmax",
               .inputs = inputs,
               .outputs = outputs,
               .claims = claims,
               .may_be_in_place = true,
               .answers = {.words = words, .coefficients = true}}) {}

  const ArgumentForm* arguments() const override { return &form; }

  void judge(const JudgedRow& row, RowVerdicts& verdicts) const override {
    RowCascade cascade(row.logits, row.theta);
    const Statistics statistics = statistics_of(cascade.statistics(), row.contract, row.logits, row.theta);
    judge_coefficients(row, cascade, statistics, verdicts);
    judge_row_total(row, statistics, verdicts);
  }

  void enclose(const RowInputs& row, std::span<double> lower, std::span<double> upper) const override {
    const PrecisionScope precision(113);
    RowCascade cascade(row.logits, row.theta);
    const Enclosure maximum(cascade.statistics().maximum), sum = ExactSums(cascade).sum_minus_one + 1;
    OracleLadder<RowOracle> oracles([&] { return RowOracle(row.logits, row.theta); });
    for (std::size_t i = 0; i < row.logits.size(); ++i) {
      if (std::isinf(row.logits[i])) continue;
      const Enclosure near = exp((Enclosure(row.logits[i]) - maximum) / Enclosure(row.theta)) / sum;
      const Enclosure best = refined(near, [&] { return oracles.now().softmax(i); });
      lower[i] = best.lower_double();
      upper[i] = best.upper_double();
    }
  }

  void grant(const RowInputs& row, std::span<double> allowed) const override {
    const RowCascade cascade(row.logits, row.theta);
    const FilterStatistics& filter = cascade.statistics();
    const auto threshold = softmax_error(row.contract, statistics_of(filter, row.contract, row.logits, row.theta));
    const bool promised = is_promise(threshold);
    const std::vector<ProbabilityBounds> bounds = filter_softmax(row.logits, filter);
    const ElementTolerance tolerance = tolerance_of(row.contract, threshold);
    for (std::size_t i = 0; i < row.logits.size(); ++i) {
      const double logit = row.logits[i];
      if (std::isinf(logit) && promised) {
        allowed[i] = row.contract.least_exp == 0 ? 0 : tolerance.absolute;
        continue;
      }
      if (!promised) {
        allowed[i] = infinity;
        continue;
      }
      // The filter's p errs by a few ulps of double: use a lower bound, so that the published threshold does not exceed
      // the granted one.
      const double of_others = at_least(tolerance, (filter.maximum - logit) / row.theta, bounds[i].lower);
      const double of_zero = tolerance.flushed == 0 ? of_others : rounded_down(of_others + tolerance.flushed);
      allowed[i] =
          tolerance.flushed == 0 ? of_others : most_granted(of_zero, of_others, bounds[i].lower, bounds[i].upper);
    }
  }
};

constinit const Softmax softmax_op;

}  // namespace

constinit const Op Op::softmax = softmax_op;

}  // namespace softcheck::proptests
