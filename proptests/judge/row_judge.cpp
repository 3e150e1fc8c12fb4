#include "proptests/judge/row_judge.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "numerics/certified_sum.hpp"
#include "numerics/rounding.hpp"
#include "numerics/row_cascade.hpp"
#include "numerics/special_values.hpp"
#include "proptests/judge/judged_row.hpp"
#include "proptests/judge/value_certificate.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

void judge_row_total(const JudgedRow& row, const Statistics& statistics, RowVerdicts& verdicts) {
  const double threshold = upper(row_sum_error(row.contract, statistics).total());
  if (!std::isfinite(threshold)) return;
  const auto stray = std::ranges::find_if(row.got, [](double value) { return !std::isfinite(value); });
  const double total = stray == row.got.end() ? certified_sum(row.got).value : *stray;
  verdicts.findings.push_back({"kernel.softmax.row_sum",
                               std::nullopt,
                               Enclosure(1),
                               total,
                               threshold,
                               judge_row_sum(row.got, threshold),
                               {},
                               false});
}

void judge_softmax(const JudgedRow& row, RowVerdicts& verdicts) {
  RowCascade cascade(row.logits, row.theta);
  const Statistics statistics = statistics_of(cascade.statistics(), row.contract, row.logits, row.theta);
  judge_coefficients(row, cascade, statistics, verdicts);
  judge_row_total(row, statistics, verdicts);
}

void judge_scalar(const JudgedRow& row, std::string_view claim, const ScalarThreshold<UpperBound>& threshold,
                  const ScalarThreshold<UpperBound>& plain, const Enclosure& exact, double resolution, bool resolved,
                  Decision decision, RowVerdicts& verdicts) {
  const double got = row.got[0], allowed = upper(threshold.total());
  const double magnitude = std::fabs(exact.midpoint());
  const bool promised = allowed < infinity;
  const bool counted = verdicts.vacuity.add(row.contract, magnitude, resolution,
                                            !promised || is_vacuous(upper(plain.rounding), magnitude));
  verdicts.vacuity.add_row(!promised, resolved);
  if (const auto found = infinite_value(claim, std::nullopt, row.contract, got, exact); found && !promised) {
    verdicts.findings.push_back(*found);
  }
  if (!promised || overflows_rightly(row.contract, got, exact, allowed)) return;
  ValueFinding finding{claim, std::nullopt, exact, got, allowed, decision, {}, false};
  if (counted && std::isfinite(got)) {
    finding.errors.add(row.contract.output, exact.midpoint(), (Enclosure(got) - exact).midpoint(), 0, allowed);
  }
  verdicts.findings.push_back(std::move(finding));
}

void judge_logsumexp(const JudgedRow& row, RowVerdicts& verdicts) {
  RowCascade cascade(row.logits, row.theta);
  const Statistics statistics = statistics_of(cascade.statistics(), row.contract, row.logits, row.theta);
  const auto threshold = logsumexp_error(row.contract, statistics);
  const Decision decision = cascade.judge_logsumexp(row.got[0], upper(threshold.total()));
  // The sum of m / theta and ln S may cancel: what is left is no more accurate than its terms.
  const double resolution = resolution_of_logarithms(row.contract, statistics) +
                            properties(row.contract.accumulator).unit_roundoff * statistics.maximum_magnitude.value();
  const PrecisionScope precision(113);
  const Enclosure maximum = Enclosure(cascade.statistics().maximum) / Enclosure(row.theta);
  judge_scalar(row, "kernel.logsumexp.value", threshold, logsumexp_error(row.contract, statistics, Grants::none),
               maximum + log1p(ExactSums(cascade).sum_minus_one), resolution,
               is_resolved(Op::logsumexp, row.contract, statistics), decision, verdicts);
}

void judge_entropy(const JudgedRow& row, RowVerdicts& verdicts) {
  RowCascade cascade(row.logits, row.theta);
  const Statistics statistics = statistics_of(cascade.statistics(), row.contract, row.logits, row.theta);
  const auto threshold = contracted_entropy_error(row.contract, statistics);
  const Decision decision = cascade.judge_entropy(row.got[0], upper(threshold.total()));
  const PrecisionScope precision(113);
  const ExactSums sums(cascade);
  const std::string_view claim = "kernel.entropy.value";
  const Enclosure exact = log1p(sums.sum_minus_one) + sums.weighted_deviation / (sums.sum_minus_one + 1);
  const UpperBound undershoot = entropy_undershoot(row.contract, statistics);
  if (const auto reason = entropy_out_of_range(row.contract, row.got[0], upper(undershoot))) {
    const double allowed = upper(undershoot);
    verdicts.findings.push_back(
        {claim, std::nullopt, exact, row.got[0], allowed, Decision::violated, {}, false, *reason});
  }
  judge_scalar(row, claim, threshold, contracted_entropy_error(row.contract, statistics, Grants::none), exact,
               resolution_of_entropies(row.contract, statistics), is_resolved(Op::entropy, row.contract, statistics),
               decision, verdicts);
}

void judge_visible_row(Op op, const JudgedRow& row, RowVerdicts& verdicts) {
  switch (op) {
    case Op::softmax:
      return judge_softmax(row, verdicts);
    case Op::log_softmax:
      return judge_log_softmax(row, verdicts);
    case Op::logsumexp:
      return judge_logsumexp(row, verdicts);
    case Op::entropy:
      return judge_entropy(row, verdicts);
    case Op::adaptive_softmax:
      return judge_adaptive_softmax(row, verdicts);
    case Op::attention:
    case Op::adaptive_attention:
      break;
  }
  throw std::invalid_argument("judge_values: need an op of the softmax family, got " + std::string(to_string(op)));
}

bool is_masked_value(Op op, MaskedRows masked, double value) {
  const bool zero = value == 0 && !std::signbit(value);
  if (op == Op::logsumexp) return value == -infinity;
  if (masked == MaskedRows::nan) return std::isnan(value);
  if (masked == MaskedRows::uniform) return op == Op::entropy && zero;
  return op == Op::log_softmax ? value == -infinity : zero;
}

// As many claims as are broken by a row that stands for the uniform one: judged as the row of zeros would be.
std::size_t not_uniform(Op op, const JudgedRow& row) {
  const std::vector<double> zeros(row.logits.size(), 0.0);
  RowVerdicts verdicts;
  judge_visible_row(op, {row.contract, zeros, 1, row.got}, verdicts);
  return static_cast<std::size_t>(std::ranges::count_if(
      verdicts.findings, [](const ValueFinding& found) { return found.decision != Decision::proved; }));
}

// A row with nothing visible has no softmax; the contract says what the kernel returns in its place. Shown is the first
// value that is not so.
void judge_masked_row(Op op, const JudgedRow& row, RowVerdicts& verdicts) {
  const MaskedRows masked = row.contract.masked;
  auto wrong = std::ranges::find_if(row.got, [&](double value) { return !is_masked_value(op, masked, value); });
  const bool may_be_uniform = masked == MaskedRows::uniform && op != Op::logsumexp && !row.logits.empty();
  if (wrong != row.got.end() && may_be_uniform && not_uniform(op, row) == 0) wrong = row.got.end();
  const bool right = wrong == row.got.end();
  const double shown = row.got.empty() ? 0 : right ? row.got[0] : *wrong;
  verdicts.findings.push_back({"kernel.masked_row",
                               std::nullopt,
                               Enclosure(0),
                               shown,
                               0,
                               right ? Decision::proved : Decision::violated,
                               {},
                               true});
}

}  // namespace

RowVerdicts judge_values(Op op, const Contract& contract, std::span<const double> logits, double theta,
                         std::span<const double> got) {
  const FpEnvironmentGuard environment;
  const std::size_t expected = is_row_scalar(op) ? 1 : logits.size();
  if (got.size() != expected) {
    throw std::invalid_argument("judge_row: need " + std::to_string(expected) + " values, got " +
                                std::to_string(got.size()));
  }
  RowVerdicts verdicts;
  const JudgedRow row{contract, logits, theta, got};
  if (std::ranges::all_of(logits, [](double logit) { return std::isinf(logit); })) {
    judge_masked_row(op, row, verdicts);
  } else {
    judge_visible_row(op, row, verdicts);
  }
  return verdicts;
}

RowVerdicts judge_limit(Op op, const Contract& contract, std::span<const double> logits, double theta,
                        std::span<const double> got) {
  // softmax(c + x) for c -> inf at the items of +inf: they share all weight, and what is finite has none.
  std::vector<double> limit, numbers(got.begin(), got.end());
  for (double logit : logits) limit.push_back(logit == infinity ? 0 : -infinity);
  if (op == Op::logsumexp) {
    const Decision decision = std::isnan(got[0]) || got[0] == infinity ? Decision::proved : Decision::violated;
    return {{{"kernel.logsumexp.value", std::nullopt, Enclosure(0), got[0], 0, decision, {}, true}}, {}};
  }
  // Each value may be NaN instead; in its place stands what it would be.
  const bool any_number = std::ranges::any_of(got, [](double value) { return !std::isnan(value); });
  if (!any_number) return {};
  const auto sharing = static_cast<double>(std::ranges::count(limit, 0.0));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isnan(numbers[i])) continue;
    const double share = op == Op::log_softmax ? -std::log(sharing) : 1 / sharing;
    const double nothing = op == Op::log_softmax ? -infinity : 0;
    numbers[i] = round_to(contract.output, limit[i] == 0 ? share : nothing);
  }
  return judge_values(op, contract, limit, theta, numbers);
}

RowFindings judge_row(Op op, const Contract& contract, std::span<const double> logits, double theta,
                      std::span<const double> got, const std::string& witness) {
  const RowVerdicts verdicts = judge_values(op, contract, logits, theta, got);
  RowFindings result{{}, verdicts.vacuity};
  const PrecisionScope precision(113);
  for (const ValueFinding& finding : verdicts.findings) {
    result.certificates.push_back(certificate_of(finding, {witness}, contract.output));
  }
  return result;
}

}  // namespace softcheck::proptests
