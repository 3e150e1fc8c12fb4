#include "judge/ops/attention/attention_judge.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

#include "judge/ops/attention/attention_limits.hpp"
#include "judge/ops/attention/attention_thresholds.hpp"
#include "judge/ops/attention/claim_verdict.hpp"
#include "judge/ops/attention/differential_thresholds.hpp"
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
    if (task_.op->sigmoid) return judge_columns(SigmoidThresholds(task_, row_, visible_), !visible_.may_overflow, got);
    if (task_.op->differential) {
      const DifferentialThresholds thresholds(task_, row_, visible_);
      return judge_columns(thresholds, thresholds.promises(), got);
    }
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

  // For ops whose only result is the output.
  template <class Thresholds>
  void judge_columns(const Thresholds& thresholds, bool promises, const AttentionValues& got) {
    verdicts_.vacuity.add_row(!promises);
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
  even.second_query = even.second_keys = {};
  even.softcap = even.slope = 0;
  even.bias.clear();
  std::ranges::fill(even.visible, 1);
  AttentionTask plain = task;
  if (!task.op->differential) plain.op = Op::attention;
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

AttentionRow AttentionRow::second() const {
  AttentionRow other = *this;
  other.query = second_query;
  other.keys = second_keys;
  return other;
}

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
    const bool uniform = task.contract.masked == MaskedRows::uniform;
    if (task.op->differential && uniform) finding.due = "1 - lambda times the mean of the values";
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
