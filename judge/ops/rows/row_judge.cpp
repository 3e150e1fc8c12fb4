#include "judge/ops/rows/row_judge.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

#include "judge/ops/rows/judged_row.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "judge/verdict/value_certificate.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/formats/format.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

// Can a fully masked row be judged as a row of equal items?
bool may_be_uniform(const RowOp& op) {
  const std::span<const OpInput> others = op.traits.inputs.subspan(1);
  // A router's bias is no part of such a row.
  return op.traits.answers.masked_rows &&
         std::ranges::all_of(others, [](const OpInput& input) { return input.role == Role::bias; });
}

// Is value i, of `count`, what masked= requires?
bool is_masked_value(const RowOp& op, const JudgedRow& row, std::size_t i) {
  const std::size_t n = row.logits.size(), count = row.got.size();
  const double value = row.got[i];
  const MaskedRows masked = row.contract.masked;
  if (is_index_value(op.traits, i, n, op.width_of(row))) return is_item(value, n);
  const double due = op.nothing_at(i, count);
  const bool same = is_held_as(row.contract.output, value, due);
  if (!op.has_masked_value(i, count)) return same;
  if (masked == MaskedRows::nan) return std::isnan(value);
  if (masked == MaskedRows::uniform && may_be_uniform(op)) return op.traits.one_value_per_row && same;
  return same;
}

// The text of the value that is_masked_value requires.
std::string_view due_of_masked_value(const RowOp& op, const JudgedRow& row, std::size_t i) {
  const std::size_t n = row.logits.size(), count = row.got.size();
  if (is_index_value(op.traits, i, n, op.width_of(row))) return "an item's index";
  const MaskedRows masked = op.has_masked_value(i, count) ? row.contract.masked : MaskedRows::zero;
  if (masked == MaskedRows::nan) return "NaN";
  if (masked == MaskedRows::uniform && may_be_uniform(op) && !op.traits.one_value_per_row && n > 0) {
    return "that of equal logits";
  }
  const double due = op.nothing_at(i, count);
  return due == 0 ? "0" : due == -infinity ? "-inf" : "";
}

// Number of claims that the row breaks if judged as a row of zeros, the uniform row.
std::size_t not_uniform(const RowOp& op, const JudgedRow& row) {
  const std::vector<double> zeros(row.logits.size(), 0.0);
  RowVerdicts verdicts;
  op.judge({{row.contract, zeros, 1, row.auxiliary, row.attributes}, row.got}, verdicts);
  return static_cast<std::size_t>(std::ranges::count_if(
      verdicts.findings, [](const ValueFinding& found) { return found.decision != Decision::proved; }));
}

// A fully masked row has no softmax; masked= defines the result. The finding shows the first wrong value.
void judge_masked_row(const RowOp& op, const JudgedRow& row, RowVerdicts& verdicts) {
  const MaskedRows masked = row.contract.masked;
  const std::size_t count = row.got.size();
  auto wrong = row.got.begin();
  for (std::size_t i = 0; i < count && is_masked_value(op, row, i); ++i) ++wrong;
  const bool uniform = masked == MaskedRows::uniform && may_be_uniform(op) && !row.logits.empty();
  if (wrong != row.got.end() && uniform && not_uniform(op, row) == 0) wrong = row.got.end();
  const bool right = wrong == row.got.end();
  const double shown = row.got.empty() ? 0 : right ? row.got[0] : *wrong;
  ValueFinding finding;
  finding.claim = "kernel.masked_row";
  finding.by_identity = true;
  finding.got = shown;
  finding.decision = right ? Decision::proved : Decision::violated;
  if (!right) finding.due = due_of_masked_value(op, row, static_cast<std::size_t>(wrong - row.got.begin()));
  verdicts.findings.push_back(std::move(finding));
}

// softmax(c + x) for c -> inf, where c is added at the items of +inf: these share all weight, finite items have none.
std::vector<double> limit_of(std::span<const double> logits) {
  std::vector<double> limit;
  for (const double logit : logits) limit.push_back(logit == infinity ? 0 : -infinity);
  return limit;
}

// exact_masked_row for ops with several outputs.
void exact_masked_parts(const RowOp& op, const Contract& contract, std::size_t n, std::span<double> lower,
                        std::span<double> upper, const Attributes& attributes) {
  const std::vector<double> zeros(n, 0.0);
  const RowInputs uniform{contract, zeros, 1, {}, attributes};
  const std::size_t count = lower.size();
  const bool is_uniform = contract.masked == MaskedRows::uniform && may_be_uniform(op) && n > 0;
  // Equal items share the weight; ids ascend from the lowest.
  if (is_uniform) return op.enclose(uniform, lower, upper);
  std::size_t ids = 0;
  for (std::size_t i = 0; i < count; ++i) {
    double value = op.nothing_at(i, count);
    if (is_index_value(op.traits, i, n, op.width_of(uniform))) {
      value = static_cast<double>(ids++);
    } else if (op.has_masked_value(i, count) && contract.masked == MaskedRows::nan) {
      value = nan;
    }
    lower[i] = upper[i] = value;
  }
}

bool nothing_visible(std::span<const double> logits) {
  return std::ranges::all_of(logits, [](double logit) { return std::isinf(logit); });
}

// Enough for the largest calls of default effort; rows beyond this are judged each time.
constexpr std::size_t most_bytes = std::size_t{64} << 20;

void append(std::string& key, std::span<const double> values) {
  const auto bytes = std::as_bytes(values);
  const std::size_t size = values.size();
  key.append(reinterpret_cast<const char*>(&size), sizeof size);
  key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

RowVerdicts judge_values(Op op, const Contract& contract, std::span<const double> logits, double theta,
                         std::span<const double> got, std::span<const std::vector<double>> auxiliary,
                         const Attributes& attributes, const CountedWeights& counted) {
  const FpEnvironmentGuard environment;
  const RowOp& rows = op.rows();
  const std::size_t n = logits.size();
  // The width of an output's vectors follows from the input's; without items it is unknown.
  const bool unknown = n == 0 && !op->extents.empty();
  const JudgedRow row{{contract, logits, theta, auxiliary, attributes, &counted}, got};
  const std::size_t expected = unknown ? got.size() : values_of_row(*op.operator->(), n, rows.width_of(row));
  if (got.size() != expected) {
    throw std::invalid_argument("judge_row: need " + std::to_string(expected) + " values, got " +
                                std::to_string(got.size()));
  }
  const std::span<const OpInput> all = op->inputs;
  // An optional input may be missing, or be empty.
  const auto least = static_cast<std::size_t>(std::ranges::count(all, false, &OpInput::optional));
  if (auxiliary.size() + 1 < least || auxiliary.size() + 1 > all.size()) {
    throw std::invalid_argument("judge_row: need " + std::to_string(all.size()) + " inputs, got " +
                                std::to_string(auxiliary.size() + 1));
  }
  RowVerdicts verdicts;
  if (nothing_visible(logits) && (op->takes_infinities || logits.empty())) {
    judge_masked_row(rows, row, verdicts);
  } else {
    rows.judge(row, verdicts);
  }
  return verdicts;
}

RowVerdicts judge_limit(Op op, const Contract& contract, std::span<const double> logits, double theta,
                        std::span<const double> got) {
  const RowOp& rows = op.rows();
  const bool may_be_nan = contract.infinity == InfiniteRows::any;
  if (op->answers.at_the_logits) {
    const bool right = got[0] == infinity || (may_be_nan && std::isnan(got[0]));
    const Decision decision = right ? Decision::proved : Decision::violated;
    ValueFinding finding{op->claims[0], std::nullopt, Enclosure(0), got[0], 0, decision, {}, true};
    finding.due = may_be_nan ? "inf or NaN" : "inf";
    return {{std::move(finding)}, {}};
  }
  if (!may_be_nan) return judge_values(op, contract, limit_of(logits), theta, got);
  if (std::ranges::all_of(got, [](double value) { return std::isnan(value); })) return {};
  // Any value may be NaN instead of its limit: replace NaNs by the limit, then judge.
  const std::vector<double> limit = limit_of(logits);
  std::vector<double> numbers(got.begin(), got.end());
  if (std::ranges::any_of(got, [](double value) { return std::isnan(value); })) {
    std::vector<double> lower(got.size(), rows.nothing()), upper = lower;
    rows.enclose({contract, limit, theta}, lower, upper);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (std::isnan(numbers[i])) numbers[i] = round_to(contract.output, lower[i]);
    }
  }
  RowVerdicts verdicts = judge_values(op, contract, limit, theta, numbers);
  for (ValueFinding& finding : verdicts.findings) {
    if (finding.due.empty()) finding.due = "NaN";
  }
  return verdicts;
}

void exact_row(Op op, const Contract& contract, std::span<const double> logits, double theta, std::span<double> lower,
               std::span<double> upper, std::span<const std::vector<double>> auxiliary, const Attributes& attributes,
               const CountedWeights& counted) {
  const RowOp& rows = op.rows();
  std::ranges::fill(lower, rows.nothing());
  std::ranges::fill(upper, rows.nothing());
  if (std::ranges::find(logits, infinity) == logits.end()) {
    return rows.enclose({contract, logits, theta, auxiliary, attributes, &counted}, lower, upper);
  }
  if (op->answers.at_the_logits) {
    std::ranges::fill(lower, infinity);
    std::ranges::fill(upper, infinity);
  } else {
    rows.enclose({contract, limit_of(logits), theta}, lower, upper);
  }
}

void exact_masked_row(Op op, const Contract& contract, std::size_t n, std::span<double> lower, std::span<double> upper,
                      const Attributes& attributes) {
  const RowOp& rows = op.rows();
  if (!op->extents.empty()) return exact_masked_parts(rows, contract, n, lower, upper, attributes);
  const bool always = !op->answers.masked_rows;
  if (!always && contract.masked == MaskedRows::uniform && n > 0) {
    const PrecisionScope precision(113);
    const Enclosure each = rows.uniform(n);
    std::ranges::fill(lower, each.lower_double());
    std::ranges::fill(upper, each.upper_double());
    return;
  }
  const double value = !always && contract.masked == MaskedRows::nan ? nan : rows.nothing();
  std::ranges::fill(lower, value);
  std::ranges::fill(upper, value);
}

void granted_row(Op op, const Contract& contract, std::span<const double> logits, double theta,
                 std::span<double> allowed, std::span<const std::vector<double>> auxiliary,
                 const Attributes& attributes, const CountedWeights& counted) {
  if (std::ranges::find(logits, infinity) == logits.end()) {
    return op.rows().grant({contract, logits, theta, auxiliary, attributes, &counted}, allowed);
  }
  if (op->answers.at_the_logits) {
    std::ranges::fill(allowed, 0);
    return;
  }
  op.rows().grant({contract, limit_of(logits), theta}, allowed);
}

RowFindings judge_row(Op op, const Contract& contract, std::span<const double> logits, double theta,
                      std::span<const double> got, const std::string& witness) {
  const RowVerdicts verdicts = judge_values(op, contract, logits, theta, got);
  RowFindings result{{}, verdicts.vacuity};
  const PrecisionScope precision(113);
  for (const ValueFinding& finding : verdicts.findings) {
    result.certificates.push_back(certificate_of(finding, {witness}, format_of_ulps(contract, contract.output)));
  }
  return result;
}

const RowVerdicts& RowVerdictCache::verdicts(std::span<const std::vector<double>> inputs, std::span<const double> got,
                                             const std::function<RowVerdicts()>& judge) {
  std::string key;
  for (const std::vector<double>& input : inputs) append(key, input);
  append(key, got);
  if (const auto found = known_.find(key); found != known_.end()) return found->second;
  bytes_ += key.size();
  if (bytes_ > most_bytes) return last_ = judge();
  RowVerdicts verdicts = judge();
  return known_.emplace(std::move(key), std::move(verdicts)).first->second;
}

}  // namespace softcheck::proptests
