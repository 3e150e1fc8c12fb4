#include "judge/results/tensor_tally.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "judge/results/given_tensor.hpp"
#include "judge/results/task_checks.hpp"
#include "judge/trial/command_line.hpp"
#include "judge/trial/kernel_claims.hpp"
#include "judge/verdict/certificate_text.hpp"
#include "judge/verdict/value_tally.hpp"
#include "numerics/enclosures/interruption.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Decision;

constexpr std::size_t most_stretches = 512;
constexpr std::size_t bins = 41;
// Time between two progress reports.
constexpr std::chrono::milliseconds telling_interval{50};

// Softmax's claims, that of the elements first.
constexpr const char* quick_claims[] = {"kernel.softmax.element", "kernel.softmax.row_sum"};

// A share of 1 is within the threshold, so it belongs to the last bin below 1.
std::size_t bin_of(double share) {
  const double bin = share == 1 ? 1 / slack_bin_width - 1 : std::floor(share / slack_bin_width);
  return bin < static_cast<double>(bins - 1) ? static_cast<std::size_t>(std::max(bin, 0.0)) : bins - 1;
}

// Orders failed rows first, then by share.
bool is_worse(Decision decision, double share, Decision than, double its_share) {
  return severity(decision) != severity(than) ? severity(decision) > severity(than) : share > its_share;
}

double seconds_from(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string of_rows(std::size_t count) { return std::to_string(count) + (count == 1 ? " row" : " rows"); }

std::vector<std::int64_t> leading(const GivenTensor* tensor) {
  if (tensor == nullptr || tensor->shape.empty()) return {};
  return {tensor->shape.begin(), tensor->shape.end() - 1};
}

}  // namespace

TensorTally::TensorTally(const TensorTask& task, const numerics::Contract& contract, numerics::Format scalars,
                         const TensorOptions& options)
    : task_(task),
      contract_(contract),
      scalars_(scalars),
      blocks_(row_blocks(task)),
      rows_(rows_of_task(task)),
      options_(options) {
  judgement_.profile.assign(std::min(rows_, most_stretches), 0);
  judgement_.histogram.assign(bins, 0);
}

std::string TensorTally::name_of(std::size_t row) const {
  std::string text;
  const RowPlace place = place_of_row(blocks_, row);
  for (const std::int64_t i : place.index) text += (text.empty() ? "" : ", ") + std::to_string(i);
  return std::string(place.kind) + " (" + text + ")";
}

numerics::Format TensorTally::format_of(std::string_view claim) const {
  return is_scalar_claim(task_.op, claim) ? scalars_ : contract_.output;
}

void TensorTally::add_finding(std::size_t row, ValueFinding finding, double share) {
  OfClaim& of = claims_[finding.claim];
  const bool first = of.cases == 0;
  ++of.cases;
  if (finding.decision == Decision::violated) ++of.failed;
  if (!finding.by_identity) {
    of.has_errors = true;
    add_errors(of.errors, finding.errors, share, [&] { return name_of(row); });
  }
  if (!first && !is_worse(finding.decision, share, of.worst.decision, of.share)) return;
  of.worst = std::move(finding);
  of.row = row;
  of.share = share;
}

void TensorTally::add_to_worst(std::size_t row, const ValueFinding& finding, double share) {
  const auto before = [&](const Reported& one) {
    return !is_worse(finding.decision, share, one.finding.decision, one.share);
  };
  if (worst_.size() >= options_.worst && (worst_.empty() || before(worst_.back()))) return;
  const auto place = std::ranges::find_if_not(worst_, before);
  worst_.insert(place, {row, finding, share});
  if (worst_.size() > options_.worst) worst_.pop_back();
}

void TensorTally::add(std::size_t row, RowVerdicts verdicts) {
  if (verdicts.findings.empty() && verdicts.vacuity.rows + verdicts.vacuity.unresolved == 0) {
    return skip("a row of which the op promises nothing");
  }
  judgement_.vacuity += verdicts.vacuity;
  if (!unbounded_row_ && verdicts.vacuity.unbounded > 0) unbounded_row_ = row;
  ++judgement_.judged;
  const ValueFinding* worst = nullptr;
  double share_of_worst = 0, largest = 0;
  std::vector<double> shares;
  for (const ValueFinding& finding : verdicts.findings) {
    shares.push_back(finding.share());
    if (options_.exempt.contains(std::string(finding.claim))) continue;
    largest = std::max(largest, shares.back());
    if (worst != nullptr && !is_worse(finding.decision, shares.back(), worst->decision, share_of_worst)) continue;
    worst = &finding;
    share_of_worst = shares.back();
  }
  if (worst != nullptr) {
    if (worst->decision == Decision::violated) ++judgement_.failed;
    if (worst->decision == Decision::undecided) ++undecided_;
    add_to_worst(row, *worst, share_of_worst);
  }
  count_row(row, largest);
  for (std::size_t k = 0; k < shares.size(); ++k) {
    ValueFinding& finding = verdicts.findings[k];
    if (!options_.exempt.contains(std::string(finding.claim))) {
      add_finding(row, std::move(finding), shares[k]);
    } else if (finding.decision != Decision::proved) {
      ++broken_exempt_[finding.claim];
    }
  }
}

void TensorTally::count_row(std::size_t row, double largest_share) {
  ++judgement_.histogram[bin_of(largest_share)];
  double& stretch = judgement_.profile[row * judgement_.profile.size() / rows_];
  stretch = std::max(stretch, largest_share);
}

void TensorTally::add_quick_claim(std::size_t row, std::string_view claim, double share, const ErrorSums& errors) {
  OfClaim& of = claims_[claim];
  if (of.cases == 0) of.worst.decision = Decision::proved;
  ++of.cases;
  of.has_errors = true;
  add_errors(of.errors, errors, share, [&] { return name_of(row); });
  if (of.worst.decision == Decision::proved) of.share = std::max(of.share, share);
}

bool TensorTally::add_quick(std::size_t row, const QuickRow& quick) {
  const bool elements = !options_.exempt.contains(quick_claims[0]);
  const bool sums = quick.sum_share && !options_.exempt.contains(quick_claims[1]);
  const double largest = std::max(elements ? quick.element_share : 0, sums ? *quick.sum_share : 0);
  // The filter knows a share up to some 40 roundings: a row that ties with the last listed one within that is not
  // listed.
  const bool is_listed = worst_.size() < options_.worst ||
                         (!worst_.empty() && is_worse(Decision::proved, largest * (1 - 0x1p-30),
                                                      worst_.back().finding.decision, worst_.back().share));
  if (is_listed && (elements || sums)) return false;
  judgement_.vacuity += quick.vacuity;
  ++judgement_.judged;
  count_row(row, largest);
  if (elements) add_quick_claim(row, quick_claims[0], quick.element_share, quick.errors);
  if (sums) add_quick_claim(row, quick_claims[1], *quick.sum_share, {});
  return true;
}

void TensorTally::run(const std::function<void()>& judge_rows) {
  const numerics::InterruptionScope scope(options_.interrupted);
  try {
    judge_rows();
  } catch (const numerics::Interrupted&) {
    judgement_.ended_early = "interrupted after " + std::to_string(done_) + " of " + of_rows(rows_);
  }
}

bool TensorTally::goes_on(std::size_t done) {
  done_ = done;
  if (options_.first_failure && judgement_.failed > 0) return false;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_progress_ < telling_interval) return true;
  last_progress_ = now;
  if (options_.progress) options_.progress(done, rows_);
  if (!options_.interrupted || !options_.interrupted()) return true;
  judgement_.ended_early = "interrupted after " + std::to_string(done) + " of " + of_rows(rows_);
  return false;
}

ReportRow TensorTally::row_of(std::string_view claim, const OfClaim& of) const {
  ReportRow row;
  row.claim = std::string(claim);
  row.cases = of.cases;
  row.slack = of.share;
  row.verdict = ReportVerdict::pass;
  if (of.has_errors) row.errors = in_reported_ulps(of.errors, contract_);
  if (of.worst.decision == Decision::proved) return row;
  row.verdict = of.worst.decision == Decision::violated ? ReportVerdict::fail : ReportVerdict::undecided;
  const numerics::PrecisionScope precision(113);
  CallDescription asked{.case_text = name_of(of.row), .row = of.row};
  row.failed.push_back(certificate_of(of.worst, std::move(asked), format_of_ulps(contract_, format_of(claim))));
  row.details.push_back(row.verdict == ReportVerdict::fail
                            ? "fails on " + std::to_string(of.failed) + " of " + of_rows(of.cases) + "; the worst:"
                            : "is not decided; the closest of " + of_rows(of.cases) + ":");
  for (const std::string& line : failure_lines(row.failed.front())) row.details.push_back("  " + line);
  return row;
}

std::vector<std::string> TensorTally::reasons_for_vacuity() const {
  const VacuityCount& vacuity = judgement_.vacuity;
  std::vector<std::string> reasons;
  if (judgement_.judged == 0) reasons.emplace_back("no row was judged");
  if (vacuity.too_many()) {
    reasons.push_back("the contract's thresholds are as wide as " + std::to_string(vacuity.vacuous) + " of the " +
                      std::to_string(vacuity.judged) + " values they judge");
  }
  if (vacuity.too_many_unbounded()) {
    reasons.push_back("the contract's thresholds are infinite for " + std::to_string(vacuity.unbounded) + " of " +
                      of_rows(vacuity.rows));
  }
  // Unresolved rows have thresholds wider than their values. Next to other rows they are ignored; alone they give no
  // verdict.
  if (vacuity.rows == 0 && vacuity.unresolved > 0) {
    reasons.push_back("the contract's form keeps nothing of " + of_rows(vacuity.unresolved) +
                      ", and there is no other");
  }
  const auto decided_or_exempt = [&](const std::string& claim) {
    return claims_.contains(claim) || options_.exempt.contains(claim);
  };
  const std::vector<std::string> claims = value_claims(task_.op);
  if (judgement_.judged > 0 &&
      std::ranges::all_of(claims, [&](const std::string& claim) { return options_.exempt.contains(claim); })) {
    reasons.emplace_back("every claim on values is exempt");
  }
  // For attention the claims on lse and entropy need tensors that the caller may not have.
  const std::size_t needed =
      task_.op->is_attention() && !task_.op->all_outputs ? 1 : claims.size() - task_.op->optional_outputs;
  const auto is_needed = [&](std::size_t k) {
    return k < needed || std::ranges::find(task_.asked, k) != task_.asked.end();
  };
  for (std::size_t k = 0; vacuity.rows > 0 && k < claims.size(); ++k) {
    if (is_needed(k) && !decided_or_exempt(claims[k])) reasons.push_back(claims[k] + " was decided in no row");
  }
  return reasons;
}

ReportRow TensorTally::whole(const TensorJudgement& judgement) const {
  ReportRow whole;
  whole.claim = "kernel.verdict";
  whole.cases = judgement.judged;
  whole.verdict = judgement.verdict;
  whole.seconds = judgement.seconds;
  if (!judgement.ended_early.empty()) whole.details.push_back("a partial report: " + judgement.ended_early);
  const std::string narrow = narrow_accumulator(contract_);
  if (!narrow.empty()) whole.details.push_back(narrow);
  if (judgement.verdict == ReportVerdict::vacuous) {
    for (std::string& reason : reasons_for_vacuity()) whole.details.push_back(std::move(reason));
  } else if (judgement.vacuity.unbounded > 0) {
    whole.details.push_back("the contract's thresholds are infinite for " +
                            std::to_string(judgement.vacuity.unbounded) + " of " + of_rows(judgement.vacuity.rows) +
                            ", which only the rules beside the thresholds judged");
  }
  if (unbounded_row_) whole.details.push_back("  the first of them: " + name_of(*unbounded_row_));
  if (judgement.vacuity.unresolved > 0) {
    whole.details.push_back(of_rows(judgement.vacuity.unresolved) +
                            " more hold logits so large that the contract's form overflows, or keeps no digit of their "
                            "differences");
  }
  for (const auto& [why, count] : skipped_) whole.details.push_back(of_rows(count) + " not judged: " + why);
  for (const std::string& claim : options_.exempt) whole.details.push_back("exempt, and so not judged: " + claim);
  for (const auto& [claim, count] : broken_exempt_) {
    whole.details.push_back("does not hold, as known: " + std::string(claim) + ", on " + of_rows(count));
  }
  return whole;
}

TensorJudgement TensorTally::judgement() const {
  TensorJudgement result = judgement_;
  result.seconds = seconds_from(start_);
  for (const Reported& one : worst_) {
    result.worst.push_back({place_of_row(blocks_, one.row).index, one.finding, one.share, one.row});
  }
  const bool partial = !result.ended_early.empty() || undecided_ > 0;
  result.verdict = result.failed > 0               ? ReportVerdict::fail
                   : partial                       ? ReportVerdict::undecided
                   : reasons_for_vacuity().empty() ? ReportVerdict::pass
                                                   : ReportVerdict::vacuous;
  const std::string subject =
      std::string(to_string(task_.op)) + " " + std::string(numerics::properties(contract_.input).name) + " -> " +
      std::string(numerics::properties(contract_.output).name) + " [" + numerics::to_string(contract_) + "]";
  for (const auto& [claim, of] : claims_) result.rows.push_back(row_of(claim, of));
  result.rows.push_back(whole(result));
  for (ReportRow& row : result.rows) row.subject = subject;
  if (result.rows.size() > 1 && result.judged > 0) {
    for (std::size_t k = 0; k + 1 < result.rows.size(); ++k) {
      result.rows[k].seconds = result.seconds / static_cast<double>(result.rows.size() - 1);
    }
  }
  return result;
}

ValueFinding identity_finding(std::string_view claim, bool holds, double got, std::optional<std::size_t> item,
                              std::string_view reason) {
  ValueFinding finding;
  finding.claim = claim;
  finding.item = item;
  finding.got = got;
  finding.decision = holds ? numerics::Decision::proved : numerics::Decision::violated;
  finding.by_identity = true;
  finding.reason = holds ? "" : reason;
  return finding;
}

ValueFinding nan_finding(std::span<const double> got, std::size_t elements, std::string_view reason) {
  const auto number = std::ranges::find_if(got, [](double value) { return !std::isnan(value); });
  const bool holds = number == got.end();
  const double shown = holds ? numerics::nan : *number;
  const auto place = static_cast<std::size_t>(number - got.begin());
  const auto item = holds || place >= elements ? std::nullopt : std::optional(place);
  return identity_finding("kernel.nan_row", holds, shown, item, reason);
}

std::vector<RowBlock> row_blocks(const TensorTask& task) {
  if (is_attention_gradient(task.op)) {
    std::vector<RowBlock> blocks{{"query", leading(input_of(task, Role::query))},
                                 {"key", leading(input_of(task, Role::key))}};
    const std::size_t always = task.op->outputs.size() - task.op->optional_outputs;
    for (const std::size_t asked : task.asked) {
      const Role role = task.op->optional_output_inputs[asked - always];
      const GivenTensor* const tensor = input_of(task, role);
      // One number per sink, one row of numbers per row of the bias.
      const bool one_each = task.op->extents[asked] == Extent::rows;
      blocks.push_back({to_string(role), one_each && tensor != nullptr ? tensor->shape : leading(tensor)});
    }
    return blocks;
  }
  if (task.op->is_linear() && has_parts(task.op)) {
    return {{"row", leading(input_of(task, Role::hidden))}, {"class", leading(input_of(task, Role::weight))}};
  }
  if (has_one_value(task.op)) return {{"call", {}}};
  const GivenTensor* const first = input_of(task, task.op->inputs[0].role);
  if (!task.op->is_of_states()) return {{"row", leading(first)}};
  if (first == nullptr || first->shape.empty()) return {{"row", {}}};
  return {{"row", {first->shape.begin() + 1, first->shape.end()}}};
}

std::size_t rows_of_task(const TensorTask& task) {
  std::size_t rows = 0;
  for (const RowBlock& block : row_blocks(task)) rows += elements_of(block.shape, "rows");
  return rows;
}

RowPlace place_of_row(const std::vector<RowBlock>& blocks, std::size_t row) {
  for (const RowBlock& block : blocks) {
    const RowWalk walk(block.shape);
    if (row < walk.rows()) return {block.kind, walk.index(row), row};
    row -= walk.rows();
  }
  throw std::out_of_range("place_of_row: need a row of the task, got one " + std::to_string(row) + " beyond them");
}

std::string list_text(const std::vector<std::int64_t>& index) {
  std::string text;
  for (const std::int64_t i : index) text += (text.empty() ? "" : ", ") + std::to_string(i);
  return "[" + text + "]";
}

std::string_view output_of_claim(Op op, std::string_view claim) {
  const auto found = std::ranges::find(op->claims, claim);
  if (!has_parts(op) || found == op->claims.end()) return {};
  // If several claims are about one output, that is the last output.
  const auto which = static_cast<std::size_t>(found - op->claims.begin());
  return op->outputs[std::min(which, op->outputs.size() - 1)];
}

}  // namespace softcheck::proptests
