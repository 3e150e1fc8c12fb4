#include "proptests/judge/contract_inference.hpp"

#include <stdexcept>
#include <utility>

#include "proptests/judge/kernel_report.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// The row of a failure that a wider candidate may explain.
std::optional<RowCase> row_of_value_failure(const KernelJudgement& judgement) {
  if (judgement.verdict != ReportVerdict::fail || !judgement.counterexample) return {};
  if (judgement.failed_property != "Kernel.EveryValueLiesWithinItsThreshold") return {};
  RowCase row_case;
  from_text(judgement.counterexample->case_text, row_case);
  return row_case;
}

}  // namespace

std::vector<ReportRow> rows_of(const Inference& inference) {
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
  if (!inference.contract) {
    ReportRow row;
    row.claim = "contract";
    row.subject = subject;
    row.cases = inference.answers;
    // Where the kernel passed by the widest, or nothing was decided, the answers that broke it stay.
    const ReportVerdict verdict = inference.judgement.verdict;
    row.verdict = verdict <= ReportVerdict::refused ? verdict : ReportVerdict::fail;
    row.details.push_back("no standard contract fits: " + inference.failure);
    rows.push_back(std::move(row));
  }
  for (ReportRow& row : rows_of(inference.subject, inference.judgement)) rows.push_back(std::move(row));
  return rows;
}

Inference infer_contract(const KernelSubject& subject, const JudgeOptions& options) {
  if (is_attention(subject.op)) {
    throw std::invalid_argument("infer_contract: need an op of the softmax family, got " +
                                std::string(to_string(subject.op)));
  }
  ContractSearch search(subject, interruptible(options));
  Inference result;
  result.subject = subject;
  const auto judge_by = [&](const Contract& contract) {
    result.subject.contract = contract;
    result.judgement = judge_kernel(result.subject, options);
    if (!result.judgement.ended_early.empty()) throw Interrupted();
    return result.judgement.verdict;
  };
  // A row on which a candidate fails rules it out, so that every round goes on to a later one.
  std::optional<Contract> found = search.first();
  while (found && judge_by(*found) != ReportVerdict::pass) {
    const std::optional<RowCase> row_case = row_of_value_failure(result.judgement);
    if (row_case) search.add_row(*row_case);
    const std::optional<Contract> next = search.first();
    if (next == found) break;  // not a matter of the contract
    found = next;
  }
  result.answers = search.answers();
  if (found && result.judgement.verdict == ReportVerdict::pass) {
    result.words = search.words(*found);
    result.contract = found;
    return result;
  }
  const Contract widest = search.widest();
  std::string little;
  if (found && properties(found->accumulator).precision < properties(widest.accumulator).precision) {
    little = "; " + words_beyond_default(*found) + " would hold, but says too little to be a contract";
  }
  // What is shown is the judgement by a contract that says something.
  if (!found || !little.empty()) judge_by(widest);
  result.failure = search.failure();
  if (result.failure.empty()) result.failure = "what was found is no matter of a contract's words";
  result.failure += little;
  return result;
}

}  // namespace softcheck::proptests
