#include "judge/ops/attention/attention_judge.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

#include "judge/ops/attention/attention_thresholds.hpp"
#include "judge/ops/attention/claim_verdict.hpp"
#include "judge/ops/attention/query_oracles.hpp"
#include "judge/ops/attention/sigmoid_thresholds.hpp"
#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/result_limits.hpp"
#include "numerics/enclosures/decision.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"
#include "numerics/rounding/rounding_attention.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

using Claim = AttentionClaim;
using enum AttentionClaim;
using Bound = UpperBound;

// B9 for any row of exact scores. A key's error is linear in its deviation: over all keys it is at most that of one key
// with all weight and the mean deviation.
AttentionThreshold<Bound> widest_threshold(const AttentionTask& task, const AttentionRow& row,
                                           const VisibleKeys& visible) {
  const std::uint64_t n = items_of(task.contract, row, visible), items = visible.items.size();
  // Computed scores may have any order: a path may meet a new maximum at every item that it adds.
  const std::uint64_t rescalings = std::min(summation_height(task.contract, n), items - 1);
  const Statistics statistics = widest_statistics(n, items, rescalings, visible.largest_computed());
  const std::vector<Bound> exact(items), deviations(items, statistics.mean_deviation);
  std::vector<Bound> coefficients(items);
  coefficients.front() = Bound(1);
  const ScoreRow<Bound> scores{statistics, coefficients, deviations};
  return {task.contract, arithmetic_of(task.contract, row, visible, n), scores, exact};
}

/// Limits that one query's results keep, however large its scores' errors are. The computed scores have an exact
/// softmax, whose output lies in the range of the visible values and whose entropy in [0, ln n]; a kernel's results
/// differ from it only by the errors of its own sums. docs/tolerances.md, "Rules beside the thresholds".
class AttentionLimits {
 public:
  /// visible    at least one; both must outlive this object
  AttentionLimits(const AttentionTask& task, const AttentionRow& row, const VisibleKeys& visible);

  ResultLimits column(std::size_t column) const;
  ResultLimits entropy() const;
  ResultLimits logsumexp() const;

 private:
  const AttentionTask& task_;
  const AttentionRow& row_;
  const VisibleKeys& visible_;
  numerics::AttentionThreshold<numerics::UpperBound> threshold_;
};

AttentionLimits::AttentionLimits(const AttentionTask& task, const AttentionRow& row, const VisibleKeys& visible)
    : task_(task), row_(row), visible_(visible), threshold_(widest_threshold(task, row, visible)) {}

ResultLimits AttentionLimits::column(std::size_t column) const {
  double least = visible_.sink ? 0 : infinity, most = -least;
  for (const std::size_t j : visible_.items) {
    if (j >= row_.visible.size()) continue;  // the sink
    const double value = row_.factor(j) * row_.values[j * row_.value_size + column];
    least = std::fmin(least, value);
    most = std::fmax(most, value);
  }
  const Bound largest(std::fmax(std::fabs(least), std::fabs(most)));
  const std::vector<Bound> sizes(visible_.items.size(), largest);
  // A dropout rounds each kept weight once more.
  const Bound rounding(row_.kept.empty()
                           ? 0
                           : 4 * properties(task_.contract.weights.value_or(task_.contract.accumulator)).unit_roundoff);
  const double error = upper(threshold_.column(sizes, largest).total() * (1 + rounding) + rounding * largest);
  return {next_below(least - error), next_above(most + error),
          "beyond the visible values by more than the errors of the sums", visible_.may_overflow};
}

ResultLimits AttentionLimits::entropy() const {
  const double error = upper(threshold_.entropy(task_.scalars).total());
  const auto items = static_cast<double>(visible_.items.size());
  // The paper's form, -sum p ln(p + 1e-9), is smaller by at most 1e-9 n (B11).
  const double below =
      task_.contract.entropy == EntropyForm::exact ? 0 : upper(epsilon_entropy_gap<Bound>(visible_.items.size()));
  return {next_below(-error - below), next_above(next_above(next_above(std::log(items))) + error),
          "no entropy is negative or beyond ln n by more than the errors of the sums", visible_.may_overflow};
}

ResultLimits AttentionLimits::logsumexp() const { return {.may_overflow = visible_.may_overflow}; }

std::string_view claim_of(Op op, Claim claim) { return op->claims[static_cast<std::size_t>(claim)]; }

// Judges one query with at least one visible key.
class QueryJudge {
 public:
  QueryJudge(const AttentionTask& task, const AttentionRow& row, const VisibleKeys& visible, RowVerdicts& verdicts)
      : task_(task),
        row_(row),
        visible_(visible),
        oracles_(task, row, std::span(visible.items).first(visible.keys())),
        verdicts_(verdicts) {}

  void judge(const AttentionValues& got) {
    if (task_.op->sigmoid) return judge_sigmoid(got);
    const AttentionThresholds thresholds(task_, row_, visible_);
    if (!thresholds.usable()) return judge_by_limits(got);
    verdicts_.vacuity.add_row(!thresholds.promises());
    judge_output(thresholds, got.out);
    if (got.lse) judge_scalar(lse, thresholds.logsumexp(), *got.lse);
    if (!got.entropy) return;
    if (const auto reason = entropy_out_of_range(task_.contract, *got.entropy, thresholds.entropy_undershoot())) {
      refuse(entropy, std::nullopt, thresholds.entropy(), *got.entropy, *reason);
    }
    judge_scalar(entropy, thresholds.entropy(), *got.entropy);
  }

 private:
  ClaimVerdict verdict_of(Claim claim, const Contract& contract) {
    return {claim_of(task_.op, claim), contract,
            [this, claim](std::optional<std::size_t> item) { return oracles_.value(claim, item.value_or(0)); },
            verdicts_};
  }

  // Adds the finding of a value that breaks a rule without a threshold.
  void refuse(Claim claim, std::optional<std::size_t> item, const Judgeable& value, double got,
              std::string_view reason) {
    verdicts_.findings.push_back({claim_of(task_.op, claim),
                                  item,
                                  value.exact.enclosure(),
                                  got,
                                  value.threshold,
                                  Decision::violated,
                                  {},
                                  false,
                                  reason});
  }

  void judge_sigmoid(const AttentionValues& got) {
    const SigmoidThresholds thresholds(task_, row_, visible_);
    verdicts_.vacuity.add_row(visible_.may_overflow);
    ClaimVerdict verdict = verdict_of(output, task_.contract);
    for (std::size_t c = 0; c < got.out.size(); ++c) verdict.add(c, thresholds.column(c), got.out[c]);
    verdict.report();
  }

  // For scores whose errors are too large for a finite threshold.
  void judge_by_limits(const AttentionValues& got) {
    verdicts_.vacuity.judged += got.out.size();
    verdicts_.vacuity.vacuous += got.out.size();
    verdicts_.vacuity.add_row(true);
    for (std::size_t c = 0; c < got.out.size(); ++c) check_limits(output, c, limits().column(c), got.out[c]);
    if (got.lse) check_limits(lse, std::nullopt, limits().logsumexp(), *got.lse);
    if (got.entropy) check_limits(entropy, std::nullopt, limits().entropy(), *got.entropy);
  }

  void check_limits(Claim claim, std::optional<std::size_t> item, const ResultLimits& limits, double got) {
    const double largest = next_above(visible_.largest_dot + static_cast<double>(visible_.items.size()));
    const Enclosure exact =
        claim == lse ? Enclosure::between(-largest, largest) : Enclosure::between(limits.least, limits.most);
    const auto found = broken_limit(claim_of(task_.op, claim), item, contract_of(claim), got, exact, limits);
    if (found) verdicts_.findings.push_back(*found);
  }

  void judge_output(const AttentionThresholds& thresholds, std::span<const double> got) {
    ClaimVerdict verdict = verdict_of(output, task_.contract);
    for (std::size_t c = 0; c < got.size(); ++c) {
      Judgeable value = thresholds.column(c);
      if (says_nothing(value)) value.limits = limits().column(c);
      verdict.add(c, value, got[c]);
    }
    verdict.report();
  }

  void judge_scalar(Claim claim, Judgeable value, double got) {
    if (says_nothing(value)) value.limits = claim == entropy ? limits().entropy() : limits().logsumexp();
    ClaimVerdict verdict = verdict_of(claim, contract_of(claim));
    verdict.add(std::nullopt, value, got);
    verdict.report();
  }

  static bool says_nothing(const Judgeable& value) { return value.vacuous || value.threshold == infinity; }

  // Computed on demand: few rows need it.
  const AttentionLimits& limits() {
    if (!limits_) limits_.emplace(task_, row_, visible_);
    return *limits_;
  }

  Contract contract_of(Claim claim) const {
    Contract contract = task_.contract;
    if (claim != output) contract.output = task_.scalars;
    return contract;
  }

  const AttentionTask& task_;
  const AttentionRow& row_;
  const VisibleKeys& visible_;
  QueryOracles oracles_;
  std::optional<AttentionLimits> limits_;
  RowVerdicts& verdicts_;
};

// Are the output and the entropy those of equally weighted keys?
bool is_uniform(const AttentionTask& task, const AttentionRow& row, const AttentionValues& got) {
  if (row.visible.empty()) return true;  // no keys: nothing to compare with
  AttentionRow even = row;
  even.query = {};
  even.keys = {};
  even.softcap = even.slope = 0;
  even.bias.clear();
  std::ranges::fill(even.visible, 1);
  AttentionTask plain = task;
  plain.op = Op::attention;
  AttentionValues of_values{got.out, std::nullopt, got.entropy};
  if (got.entropy == 0.0) of_values.entropy.reset();
  const RowVerdicts verdicts = judge_attention(plain, even, of_values);
  return std::ranges::all_of(verdicts.findings,
                             [](const ValueFinding& finding) { return finding.decision == Decision::proved; });
}

// Is the value what masked=zero or masked=nan requires of a fully masked row?
bool is_declared(MaskedRows masked, double value) {
  return masked == MaskedRows::nan ? std::isnan(value) : value == 0 && !std::signbit(value);
}

// The text of the value that is_declared requires.
std::string_view due_of(MaskedRows masked) {
  return masked == MaskedRows::nan ? "NaN" : masked == MaskedRows::zero ? "0" : "the mean of the values";
}

// The value of a fully masked row to report, and the required one: the first wrong value, or the first value.
std::pair<double, std::string_view> reported_value(const AttentionTask& task, const AttentionValues& got) {
  const MaskedRows masked = task.contract.masked;
  if (got.lse && *got.lse != -infinity) return {*got.lse, "-inf as lse"};
  const auto is_wrong = [&](double value) { return masked != MaskedRows::uniform && !is_declared(masked, value); };
  const auto wrong = std::ranges::find_if(got.out, is_wrong);
  if (wrong != got.out.end()) return {*wrong, due_of(masked)};
  if (got.entropy && is_wrong(*got.entropy)) {
    return {*got.entropy, masked == MaskedRows::nan ? "NaN as entropy" : "0 as entropy"};
  }
  return {got.out.empty() ? 0 : got.out[0], due_of(masked)};
}

// Does a query without visible keys return what masked= requires?
bool is_as_declared(const AttentionTask& task, const AttentionRow& row, const AttentionValues& got) {
  if (got.lse && *got.lse != -infinity) return false;
  if (task.contract.masked == MaskedRows::uniform) return is_uniform(task, row, got);
  const auto fits = [&](double value) { return is_declared(task.contract.masked, value); };
  return (!got.entropy || fits(*got.entropy)) && std::ranges::all_of(got.out, fits);
}

}  // namespace

RowVerdicts judge_attention(const AttentionTask& task, const AttentionRow& row, const AttentionValues& got) {
  const PrecisionScope precision(113);
  RowVerdicts verdicts;
  const VisibleKeys visible(task.contract, row);
  // A query that sees no key has output 0: there is no sum to divide by, so masked= and a sink have no effect.
  if (task.op->sigmoid && visible.keys() == 0 && (task.contract.masked != MaskedRows::zero || visible.sink)) {
    AttentionTask of_nothing = task;
    of_nothing.contract.masked = MaskedRows::zero;
    AttentionRow blind = row;
    blind.sink.reset();
    return judge_attention(of_nothing, blind, got);
  }
  if (visible.items.empty()) {
    ValueFinding finding;
    finding.claim = "kernel.masked_row";
    finding.by_identity = true;
    std::tie(finding.got, finding.due) = reported_value(task, got);
    finding.decision = is_as_declared(task, row, got) ? Decision::proved : Decision::violated;
    verdicts.findings.push_back(std::move(finding));
    return verdicts;
  }
  AttentionValues natural = got;
  if (got.lse) natural.lse = task.contract.in_nats(*got.lse);
  QueryJudge(task, row, visible, verdicts).judge(natural);
  return verdicts;
}

}  // namespace softcheck::proptests
