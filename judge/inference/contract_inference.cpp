#include "judge/inference/contract_inference.hpp"

#include <algorithm>
#include <utility>

#include "judge/kernel_judge.hpp"
#include "judge/report/kernel_report.hpp"
#include "judge/trial/command_line.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// Most rows of a failing matrix that the search calls again.
constexpr std::size_t rows_of_a_failure = 64;

// Calls the kernel again with the rows on which a candidate failed, from any property: a wider candidate may explain
// them. Calls the rows of a matrix one by one, so that layouts and neighbours have no effect.
void learn_from_failures(const KernelJudgement& judgement, ContractSearch& search) {
  for (const PropertyFinding& property : judgement.properties) {
    const auto& found = property.outcome.counterexample;
    if (!found || !found->error.empty()) continue;
    if (found->case_text.starts_with("attention") || found->case_text.starts_with("linear")) {
      AttentionCase attention;
      from_text(found->case_text, attention);
      search.add(attention);
    } else if (found->case_text.starts_with("matrix")) {
      RowMatrixCase matrix;
      from_text(found->case_text, matrix);
      std::size_t asked = 0;
      for (std::size_t r = 0; r < matrix.rows.cycle().size(); ++r) {
        const RunLengthRow& row = matrix.rows[r];
        if (row.visible() > 0 && asked++ < rows_of_a_failure)
          search.add(RowCase{row, matrix.theta, matrix.format, "", auxiliary_of_row(matrix.auxiliary, r)});
      }
    } else {
      RowCase row_case;
      from_text(found->case_text, row_case);
      search.add(row_case);
    }
  }
}

}  // namespace

ReportVerdict Inference::verdict() const {
  if (says_nothing) return ReportVerdict::vacuous;
  // Without a contract, a pass by the widest one is a failure: results broke it in the search.
  if (!contract) return judgement.verdict <= ReportVerdict::undecided ? judgement.verdict : ReportVerdict::fail;
  return std::min(judgement.verdict, grade.is_plausible() ? ReportVerdict::pass : ReportVerdict::undecided);
}

std::string Inference::summary() const {
  if (!contract) return std::string(proptests::to_string(verdict())) + ": " + failure;
  return grade.text(subject.contract.input);
}

std::vector<ReportRow> rows_of(const Inference& inference, bool strict) {
  const std::string subject = "contract inferred from " + std::to_string(inference.answers) + " rows";
  std::vector<ReportRow> rows;
  for (const InferredWord& word : inference.contract ? inference.words : std::vector<InferredWord>{}) {
    ReportRow row;
    row.claim = "contract." + word.word.substr(0, word.word.find('='));
    row.subject = subject;
    row.cases = inference.answers;
    row.verdict = ReportVerdict::pass;
    row.details.push_back(word.word + " (" + to_string(word.evidence) + "): " + word.why);
    rows.push_back(std::move(row));
  }
  if (inference.contract) {
    const bool weak = strict && !inference.grade.is_own();
    ReportRow row;
    row.claim = "contract.grade";
    row.subject = subject;
    row.cases = inference.grade.rows;
    row.verdict = weak || !inference.grade.is_plausible() ? ReportVerdict::undecided : ReportVerdict::pass;
    row.details.push_back(inference.summary());
    rows.push_back(std::move(row));
  } else {
    ReportRow row;
    row.claim = "contract";
    row.subject = subject;
    row.cases = inference.answers;
    row.verdict = inference.verdict();
    row.details.push_back(inference.failure);
    rows.push_back(std::move(row));
  }
  for (ReportRow& row : rows_of(inference.subject, inference.judgement)) rows.push_back(std::move(row));
  return rows;
}

Inference infer_contract(const KernelSubject& subject, const JudgeOptions& options) {
  ContractSearch search(subject, interruptible(options));
  Inference result;
  result.subject = subject;
  JudgeOptions of_round = options;
  of_round.run.shrinks = 0;  // a candidate that fails is only learnt from
  const auto judge_by = [&](const Contract& contract) {
    result.subject.contract = contract;
    result.judgement = judge_kernel(result.subject, of_round);
    return result.judgement.verdict;
  };
  const std::function<bool()> stop_requested = interruptible(options).run.interrupted;
  const auto first = [&] {
    const numerics::InterruptionScope scope(stop_requested);
    return search.first();
  };
  // A row that breaks a candidate rules it out, so every round continues with a later one.
  std::optional<Contract> found = first();
  while (found && judge_by(*found) != ReportVerdict::pass) {
    // Cut short, the judgement can show a broken contract, but not a kept one.
    if (result.judgement.verdict == ReportVerdict::undecided && !result.judgement.ended_early.empty()) {
      result.answers = search.answers();
      result.failure = result.judgement.ended_early + " before it was known whether the kernel keeps to '" +
                       numerics::to_string(*found) + "'";
      return result;
    }
    {
      const numerics::InterruptionScope scope(stop_requested);
      learn_from_failures(result.judgement, search);
    }
    if (!search.can_explain_rows()) break;
    const std::optional<Contract> next = first();
    if (next == found) break;  // the failure does not depend on the contract
    found = next;
  }
  result.answers = search.answers();
  if (found && result.judgement.verdict == ReportVerdict::pass) {
    result.words = search.words(*found);
    result.grade = search.grade(*found);
    result.contract = found;
    return result;
  }
  const Contract widest = search.widest();
  std::string little;
  if (found && properties(found->accumulator).precision < properties(widest.accumulator).precision) {
    little = "; " + words_beyond_default(*found) + " would hold, but says too little to be a contract";
  }
  if (found && little.empty() && result.judgement.verdict == ReportVerdict::vacuous) {
    result.failure =
        "'" + numerics::to_string(*found) +
        "' holds, but its thresholds are as wide as some values: judge a domain of shorter rows or smaller "
        "logits";
    result.says_nothing = true;
    return result;
  }
  // Show the judgement by a contract with meaningful thresholds, and its failures shrunk.
  of_round = options;
  judge_by(found && little.empty() ? *found : widest);
  result.failure = search.failure();
  if (result.failure.empty()) result.failure = "what was found is no matter of a contract's words";
  result.failure = "no standard contract fits: " + result.failure + little;
  return result;
}

}  // namespace softcheck::proptests
