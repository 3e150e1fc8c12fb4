#include "proptests/judge/row_judge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "numerics/rounding.hpp"
#include "numerics/row_cascade.hpp"
#include "proptests/judge/judged_row.hpp"
#include "proptests/judge/value_certificate.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

constexpr double infinity = std::numeric_limits<double>::infinity();

// The element that comes closest to its threshold, or violates it most, by the filter's values.
std::size_t worst_element(const JudgedRow& row, const ElementThreshold<UpperBound>& threshold,
                          std::span<const ProbabilityBounds> bounds, double maximum) {
  std::size_t worst = 0;
  double largest = -1;
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    if (!std::isfinite(row.got[i])) return i;
    const double coefficient = bounds[i].upper;
    const double deviation = std::isfinite(row.logits[i]) ? (maximum - row.logits[i]) / row.theta : 0;
    const double allowed =
        (upper(threshold.constant) + upper(threshold.slope) * deviation) * coefficient + upper(threshold.floor);
    const double error = std::fabs(row.got[i] - bounds[i].lower);
    const double used = allowed > 0 ? error / allowed : error > 0 ? infinity : 0;
    if (used > largest) {
      largest = used;
      worst = i;
    }
  }
  return worst;
}

void judge_softmax_elements(const JudgedRow& row, RowFindings& findings) {
  const std::string claim = "kernel.softmax.element";
  RowCascade cascade(row.logits, row.theta);
  const Statistics statistics = statistics_of(cascade, row.contract, row.logits, row.theta);
  const ElementThreshold<UpperBound> threshold = softmax_error(row.contract, statistics);
  const double constant = upper(threshold.constant), slope = upper(threshold.slope), floor = upper(threshold.floor);
  const double maximum = cascade.statistics().maximum;
  const std::vector<ProbabilityBounds> bounds = filter_softmax(row.logits, cascade.statistics());
  // For what is shown and counted; the verdicts come from the cascade, which encloses the deviations.
  const auto deviation = [&](std::size_t i) {
    return std::isfinite(row.logits[i]) ? (maximum - row.logits[i]) / row.theta : 0;
  };

  const bool promised = std::isfinite(constant) && std::isfinite(slope) && std::isfinite(floor);
  if (const auto found = masked_item_that_is_not(0, claim, row)) {
    findings.certificates.push_back(*found);
  } else if (promised) {
    const RowJudgement judgement =
        cascade.judge_softmax(row.got, ElementTolerance::within_relative(constant, slope, floor));
    const std::size_t shown = !judgement.violated.empty()    ? judgement.violated.front()
                              : !judgement.undecided.empty() ? judgement.undecided.front()
                                                             : worst_element(row, threshold, bounds, maximum);
    const PrecisionScope precision(113);
    const Enclosure exact = Enclosure::between(bounds[shown].lower, bounds[shown].upper);
    const Enclosure allowed =
        (Enclosure(constant) + Enclosure(slope) * Enclosure(deviation(shown))) * exact + Enclosure(floor);
    findings.certificates.push_back(value_certificate(claim, row.witness + " item=" + std::to_string(shown), exact,
                                                      row.got[shown], allowed.upper_double(), judgement.row(),
                                                      row.contract.output));
  }

  const ElementThreshold<UpperBound> plain = softmax_error(row.contract, statistics, Grants::none);
  const double plain_constant = upper(plain.constant), plain_slope = upper(plain.slope);
  for (std::size_t i = 0; i < row.got.size(); ++i) {
    const bool vacuous = !promised || !(plain_constant + plain_slope * deviation(i) < 1);
    findings.vacuity.add(row.contract, bounds[i].lower, 0, vacuous);
  }

  const ScalarThreshold<UpperBound> sum = row_sum_error(row.contract, statistics);
  const double sum_threshold = upper(sum.total());
  if (!std::isfinite(sum_threshold)) return;
  const PrecisionScope precision(113);
  Enclosure total;
  double last = 0;
  for (double value : row.got) {
    if (std::isfinite(value))
      total += Enclosure(value);
    else
      last = value;
  }
  const double sum_got = std::isfinite(last) ? total.midpoint() : last;
  findings.certificates.push_back(value_certificate("kernel.softmax.row_sum", row.witness, Enclosure(1), sum_got,
                                                    sum_threshold, judge_row_sum(row.got, sum_threshold),
                                                    row.contract.output));
}

// What an approximation says of its real: at the very end of the range of doubles, that it is large.
Enclosure enclose(const Approximation& approximate) {
  constexpr double largest = std::numeric_limits<double>::max();
  if (std::isinf(approximate.value)) {
    return Enclosure(std::copysign(largest, approximate.value)) * Enclosure::between(1, 2);
  }
  const Enclosure error = Enclosure::between(-1, 1) * Enclosure(std::min(approximate.error, largest));
  return Enclosure(approximate.value) + error;
}

void judge_scalar(const JudgedRow& row, const std::string& claim, const ScalarThreshold<UpperBound>& threshold,
                  const ScalarThreshold<UpperBound>& plain, const Approximation& approximate, double resolution,
                  Decision decision, RowFindings& findings) {
  const PrecisionScope precision(113);
  const Enclosure exact = enclose(approximate);
  const double magnitude = std::fabs(approximate.value), allowed = upper(threshold.total());
  const bool promised = allowed < infinity;
  findings.vacuity.add(row.contract, magnitude, resolution, !promised || is_vacuous(upper(plain.rounding), magnitude));
  if (!promised || overflows_rightly(row.contract, row.got[0], exact, allowed)) return;
  findings.certificates.push_back(
      value_certificate(claim, row.witness, exact, row.got[0], allowed, decision, row.contract.output));
}

void judge_logsumexp(const JudgedRow& row, RowFindings& findings) {
  RowCascade cascade(row.logits, row.theta);
  const Statistics statistics = statistics_of(cascade, row.contract, row.logits, row.theta);
  const auto threshold = logsumexp_error(row.contract, statistics);
  const Decision decision = cascade.judge_logsumexp(row.got[0], upper(threshold.total()));
  // The sum of m / theta and ln S may cancel: what is left is no more accurate than its terms.
  const double resolution = resolution_of_logarithms(row.contract, statistics) +
                            properties(row.contract.accumulator).unit_roundoff * statistics.maximum_magnitude.value();
  judge_scalar(row, "kernel.logsumexp.value", threshold, logsumexp_error(row.contract, statistics, Grants::none),
               cascade.logsumexp(), resolution, decision, findings);
}

void judge_entropy(const JudgedRow& row, RowFindings& findings) {
  RowCascade cascade(row.logits, row.theta);
  const Statistics statistics = statistics_of(cascade, row.contract, row.logits, row.theta);
  const auto threshold = entropy_error(row.contract, statistics);
  const Decision decision = cascade.judge_entropy(row.got[0], upper(threshold.total()));
  judge_scalar(row, "kernel.entropy.value", threshold, entropy_error(row.contract, statistics, Grants::none),
               cascade.entropy(), resolution_of_logarithms(row.contract, statistics), decision, findings);
}

void judge_visible_row(Op op, const JudgedRow& row, RowFindings& findings) {
  switch (op) {
    case Op::softmax:
      return judge_softmax_elements(row, findings);
    case Op::log_softmax:
      return judge_log_softmax(row, findings);
    case Op::logsumexp:
      return judge_logsumexp(row, findings);
    case Op::entropy:
      return judge_entropy(row, findings);
    case Op::adaptive_softmax:
      return judge_adaptive_softmax(row, findings);
  }
}

bool is_masked_value(Op op, MaskedRows masked, bool empty, double value) {
  if (op == Op::logsumexp) return value == -infinity;
  if (empty) return value == 0;  // the entropy of an empty row
  if (masked == MaskedRows::nan) return std::isnan(value);
  if (masked == MaskedRows::uniform) return op == Op::entropy && value == 0;
  return value == (op == Op::log_softmax ? -infinity : 0);
}

// As many as are wrong of a row that stands for the uniform one: judged as the row of zeros would be.
std::size_t not_uniform(Op op, const JudgedRow& row) {
  const std::vector<double> zeros(row.logits.size(), 0.0);
  RowFindings findings;
  judge_visible_row(op, {row.contract, zeros, 1, row.got, row.witness}, findings);
  return static_cast<std::size_t>(std::ranges::count_if(
      findings.certificates, [](const Certificate& found) { return found.verdict != Verdict::proved; }));
}

// A row with nothing visible has no softmax; the contract says what the kernel returns in its place.
void judge_masked_row(Op op, const JudgedRow& row, RowFindings& findings) {
  const MaskedRows masked = row.contract.masked;
  std::size_t wrong = 0;
  for (double value : row.got) wrong += !is_masked_value(op, masked, row.logits.empty(), value);
  if (wrong > 0 && masked == MaskedRows::uniform && op != Op::logsumexp && !row.logits.empty()) {
    wrong = not_uniform(op, row);
  }
  Certificate result;
  result.claim = "kernel.masked_row";
  result.witness = row.witness + (row.got.empty() ? "" : " got=" + hex_float(row.got[0]));
  result.left = Enclosure::integer(wrong);
  result.right = Enclosure(0);
  result.slack = wrong == 0 ? 0 : infinity;
  result.verdict = wrong == 0 ? Verdict::proved : Verdict::violated;
  findings.certificates.push_back(result);
}

}  // namespace

RowFindings judge_row(Op op, const Contract& contract, std::span<const double> logits, double theta,
                      std::span<const double> got, const std::string& witness) {
  const FpEnvironmentGuard environment;
  const std::size_t expected = is_row_scalar(op) ? 1 : logits.size();
  if (got.size() != expected) {
    throw std::invalid_argument("judge_row: need " + std::to_string(expected) + " values, got " +
                                std::to_string(got.size()));
  }
  RowFindings findings;
  const JudgedRow row{contract, logits, theta, got, witness};
  if (std::ranges::all_of(logits, [](double logit) { return std::isinf(logit); })) {
    judge_masked_row(op, row, findings);
    return findings;
  }
  judge_visible_row(op, row, findings);
  return findings;
}

}  // namespace softcheck::proptests
