// softmax: the cascade decides every element; which one is shown, and the errors, come from its quickest stage.
#include <algorithm>
#include <cmath>

#include "numerics/special_values.hpp"
#include "proptests/judge/judged_row.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

/// softmax(logits / theta), accurate far beyond the last place of format.
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

/// What a certificate shows as the exact value.
Enclosure expected_element(const JudgedRow& row, RowCascade& cascade, std::span<const ProbabilityBounds> bounds,
                           std::size_t i) {
  if (std::isinf(row.logits[i])) return Enclosure(0);
  if (properties(row.contract.output).precision <= 24) return Enclosure::between(bounds[i].lower, bounds[i].upper);
  const Enclosure gap = Enclosure(row.logits[i]) - Enclosure(cascade.statistics().maximum);
  return exp(gap / Enclosure(row.theta)) / (ExactSums(cascade).sum_minus_one + 1);
}

}  // namespace

void judge_coefficients(const JudgedRow& row, RowCascade& cascade, const Statistics& statistics,
                        RowVerdicts& verdicts) {
  const auto threshold = softmax_error(row.contract, statistics);
  const auto plain = softmax_error(row.contract, statistics, Grants::none);
  const std::string_view claim = "kernel.softmax.element";
  const double constant = upper(threshold.constant), slope = upper(threshold.slope), floor = upper(threshold.floor);
  const double plain_constant = upper(plain.constant), plain_slope = upper(plain.slope);
  const bool promised = std::isfinite(constant) && std::isfinite(slope) && std::isfinite(floor);
  const bool resolved = is_resolved(Op::softmax, row.contract, statistics);
  const double maximum = cascade.statistics().maximum;
  const std::vector<ProbabilityBounds> bounds = filter_softmax(row.logits, cascade.statistics());
  const std::vector<long double> exact = coefficients(row, cascade, bounds);
  const auto allowed_at = [&](std::size_t i) {
    const double deviation = std::isfinite(row.logits[i]) ? (maximum - row.logits[i]) / row.theta : 0;
    return (constant + slope * deviation) * bounds[i].upper + floor;
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
    const UpperBound deviation(std::nextafter((maximum - row.logits[i]) / row.theta, infinity));
    return upper(coefficient_excess(row.contract, statistics, deviation));
  };
  verdicts.vacuity.add_row(!promised, resolved);
  const auto masked = promised ? masked_item_that_is_not(0, claim, row) : std::nullopt;
  if (const auto found = masked ? masked : coefficient_out_of_range(claim, row, excess)) {
    verdicts.findings.push_back(*found);
    return;
  }
  if (!promised) return;
  const RowJudgement judgement =
      cascade.judge_softmax(row.got, ElementTolerance::within_relative(constant, slope, floor));
  if (!judgement.undecided.empty()) finding.item = judgement.undecided.front();
  if (!judgement.violated.empty()) finding.item = judgement.violated.front();
  const PrecisionScope precision(113);
  finding.expected = expected_element(row, cascade, bounds, *finding.item);
  finding.got = row.got[*finding.item];
  finding.threshold = allowed_at(*finding.item);
  finding.decision = judgement.row();
  verdicts.findings.push_back(std::move(finding));
}

}  // namespace softcheck::proptests
