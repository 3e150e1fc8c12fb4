#include "judge/kernel_judge.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <stdexcept>

#include "judge/exhaustive/exhaustive_judge.hpp"
#include "judge/granting_contract.hpp"
#include "judge/trial/attention_trial.hpp"
#include "judge/trial/command_line.hpp"
#include "judge/trial/effort_properties.hpp"
#include "judge/trial/kernel_claims.hpp"
#include "judge/trial/kernel_properties.hpp"
#include "judge/trial/kernel_trial.hpp"
#include "judge/trial/plainest_case.hpp"
#include "judge/trial/property_schedule.hpp"
#include "judge/trial/wrong_value.hpp"
#include "proptests/generators/row_matrices/row_matrix_classes.hpp"

namespace softcheck::proptests {
namespace {

// With this many refusals, look for what the refused calls have in common.
constexpr std::size_t many_refusals = 16;

// The order of ReportVerdict decides: violated is worse than crashed, crashed than timed out, and all than a pass.
void add_outcome(const Property& property, Outcome outcome, KernelJudgement& judgement) {
  // A claim that no case decided does not count against a kernel that refused those calls; refusals are judged
  // separately.
  const bool never_met = outcome.verdict == numerics::Verdict::vacuous && !outcome.counterexample;
  const ReportVerdict verdict = never_met ? ReportVerdict::pass : verdict_of_outcome(outcome);
  if (verdict < judgement.verdict) {
    judgement.verdict = verdict;
    judgement.failed_property = property.name();
    judgement.counterexample = outcome.counterexample;
  }
  judgement.properties.push_back({property.name(), std::move(outcome), verdict});
}

void note_rows_without_thresholds(const std::string& first, KernelJudgement& judgement) {
  const VacuityCount& vacuity = judgement.vacuity;
  if (vacuity.unbounded > 0) {
    judgement.notes.push_back("the contract's thresholds are infinite for " + std::to_string(vacuity.unbounded) +
                              " of " + std::to_string(vacuity.rows) +
                              " rows, which only the rules beside the thresholds judged; the first: " + first);
  }
  if (vacuity.unresolved > 0) {
    judgement.notes.push_back(
        std::to_string(vacuity.unresolved) +
        " more rows hold logits so large that the contract's form overflows, or keeps no digit of "
        "their differences");
  }
}

// Record what the budget cut off, and turn a pass into UNDECIDED.
void end_early(const PropertySchedule& schedule, KernelJudgement& judgement) {
  const EarlyEnd& end = schedule.early_end();
  std::vector<std::string> cut_off = schedule.not_tried();
  if (!cut_off.empty()) {
    const std::size_t more = cut_off.size() - 1;
    judgement.notes.push_back("not tried: " + cut_off.front() +
                              (more == 0 ? "" : "; and " + std::to_string(more) + " properties more in part"));
  }
  std::ranges::move(cut_off, std::back_inserter(judgement.not_tried));
  if (end.reason.empty() || end.by_limit) return;
  judgement.ended_early = end.reason;
  if (ReportVerdict::undecided < judgement.verdict) judgement.verdict = ReportVerdict::undecided;
}

// Triton's interpreter uses NumPy on the CPU, which has no bf16.
bool note_interpreter(const KernelSubject& subject, KernelJudgement& judgement) {
  const char* const interpreted = std::getenv("TRITON_INTERPRET");
  const bool is_bf16 =
      subject.contract.input == numerics::Format::bf16 || subject.contract.output == numerics::Format::bf16;
  if (judgement.verdict != ReportVerdict::fail || !is_bf16 || interpreted == nullptr || *interpreted != '1')
    return false;
  judgement.notes.emplace_back(
      "cause: TRITON_INTERPRET=1: Triton's interpreter cuts f32 off to bf16 where a GPU rounds to nearest: judge bf16 "
      "on a GPU, or f32 and f16 here");
  return true;
}

// Notes which sizes a pass covers, and which it does not.
void add_sizes(const CallSizes& sizes, KernelJudgement& judgement) {
  judgement.notes.push_back(sizes.largest_called());
  std::ranges::move(sizes.not_tried(), std::back_inserter(judgement.not_tried));
}

template <class Trial>
void weigh(const Trial& trial, KernelJudgement& judgement) {
  judgement.vacuity = trial.vacuity();
  judgement.calls = trial.watched().kernel().calls();
  judgement.refused = trial.watched().kernel().refused_calls();
  judgement.printed_bytes = trial.watched().kernel().printed_bytes();
  judgement.printed_lines = trial.watched().kernel().printed_lines();
  std::ranges::move(trial.watched().notes(), std::back_inserter(judgement.notes));
  judgement.refusals = trial.watched().refusals();
  judgement.isolation = trial.watched().kernel().isolation();
  judgement.rows = trial.judged_rows();
  judgement.errors = trial.errors();
  judgement.coverage = trial.coverage();
  judgement.not_tried.insert(judgement.not_tried.end(), trial.not_tried().begin(), trial.not_tried().end());
  const std::size_t accepted = judgement.calls - judgement.refused;
  ReportVerdict weight = ReportVerdict::pass;
  if (accepted == 0 && judgement.calls > 0) {
    weight = ReportVerdict::refused;
    judgement.notes.push_back("every call was refused");
  } else if (accepted * 3 < judgement.calls) {
    weight = ReportVerdict::vacuous;
    judgement.notes.push_back("fewer than a third of the calls were accepted");
  } else if (judgement.vacuity.too_many()) {
    weight = ReportVerdict::vacuous;
    judgement.notes.push_back("the contract's thresholds are as wide as " + std::to_string(judgement.vacuity.vacuous) +
                              " of the " + std::to_string(judgement.vacuity.judged) + " values they judge");
  } else if (judgement.vacuity.too_many_unbounded()) {
    weight = ReportVerdict::vacuous;
  }
  note_rows_without_thresholds(trial.unbounded_row(), judgement);
  if (weight < judgement.verdict) judgement.verdict = weight;
}

// A claim that no call decided does not hold, whatever else passed: a kernel that refuses every row with a NaN has not
// shown what it returns for one, nor has one that refuses all rows of a kind.
template <class Trial>
void require_decided_claims(const Trial& trial, const Domain& domain, KernelJudgement& judgement) {
  std::map<std::string, std::size_t> decided;
  for (const std::string& claim : trial.value_claims()) decided[claim];
  for (const PropertyFinding& property : judgement.properties) {
    for (const auto& [claim, summary] : property.outcome.claims) decided[claim] += summary.decided;
  }
  std::vector<std::string> reasons;
  const std::vector<std::string> values = trial.value_claims();
  if (std::ranges::all_of(values, [&](const std::string& claim) { return trial.watched().exempts(claim); })) {
    reasons.emplace_back("every claim on values is exempt");
  }
  for (const auto& [claim, times] : decided) {
    if (domain.has_fixed_mask() && claim == "kernel.masked_row") continue;  // which may show every query a key
    if (times == 0 && !trial.watched().exempts(claim) && !trial.is_not_offered(claim)) {
      reasons.push_back(claim + " was decided in no call");
    }
  }
  for (const Coverage::Entry& entry : judgement.coverage.entries()) {
    if (entry.dimension == values_dimension && entry.only_refused()) {
      reasons.push_back("every call with values of the kind '" + entry.name + "' was refused");
    }
  }
  if (judgement.verdict != ReportVerdict::pass || reasons.empty()) return;
  judgement.verdict = ReportVerdict::vacuous;
  judgement.notes.insert(judgement.notes.begin(), reasons.begin(), reasons.end());
}

// Hints for a kernel that refuses every call: what it may not recognize.
std::vector<std::string> hints_of_refusal(const KernelSubject& subject) {
  std::vector<std::string> hints;
  if (subject.op->number != 0) {
    hints.push_back("calls of this op have abi_version 2: they are a softcheck_call_2");
  }
  if (subject.op->packed && !subject.domain.has_sequences()) {
    hints.push_back(std::string("a kernel of packed sequences needs the domain packed") +
                    (subject.op->pages ? ", one of pages the domain pages" : ""));
  }
  if (subject.op->packed && subject.op->number == 0 && !subject.domain.has_sequences() &&
      !subject.domain.has_attributes()) {
    hints.push_back("calls have abi_version 1 unless the domain names an attribute, packed or pages");
  }
  return hints;
}

// "1,679"
std::string with_commas(std::size_t count) {
  std::string text = std::to_string(count);
  for (std::size_t place = text.size(); place > 3; place -= 3) text.insert(place - 3, ",");
  return text;
}

// Explains refusals: how refused calls differ from accepted ones, and by which words the kernel can be judged.
template <class Trial>
void explain_refusals(const KernelSubject& subject, const Trial& trial, KernelJudgement& judgement) {
  if (judgement.refused == 0) return;
  if (judgement.refused == judgement.calls) {
    if (judgement.refused < many_refusals) return;
    for (std::string& line : hints_of_refusal(subject)) judgement.notes.push_back(std::move(line));
    return;
  }
  std::string words;
  const std::vector<std::string> claims = value_claims(subject.op);
  for (std::size_t k = 1; k < claims.size() && k < subject.op->outputs.size(); ++k) {
    if (trial.is_not_offered(claims[k])) words += (words.empty() ? "" : ", ") + std::string(subject.op->outputs[k]);
  }
  if (trial.refusals().refused() == 0 && !words.empty()) {
    judgement.notes.push_back("returns none of: " + words);
    return;
  }
  const std::string features = trial.refusals().in_words();
  if (!words.empty() && !features.empty()) words += ", ";
  words += features;
  judgement.notes.push_back("refused " + with_commas(judgement.refused) + " of " + with_commas(judgement.calls) +
                            " calls" + (words.empty() ? words : ": " + words));
  if (judgement.refused < many_refusals) return;
  const auto explanation = trial.refusals().explanation(subject.domain);
  if (!explanation || explanation->unexplained) return;
  KernelSubject inside = subject;
  inside.domain = explanation->domain;
  const std::string lost =
      explanation->lost == 0 ? "" : " (without " + with_commas(explanation->lost) + " calls that it takes)";
  judgement.notes.push_back("to judge it where it refuses none" + lost + ": " + command_line(inside));
}

// Notes the classes that the judge should have drawn but no call had.
void note_unmet(KernelJudgement& judgement) {
  std::string text;
  for (const Coverage::Entry& entry : judgement.coverage.unmet()) {
    text += (text.empty() ? "" : "; ") + entry.dimension + " " + entry.name;
  }
  if (!text.empty()) judgement.notes.push_back("not met by any call: " + text);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Notes the attributes of attention whose removal makes the failing call right.
template <class Trial>
void note_mending_removals(Trial& trial, KernelJudgement& judgement) {
  if constexpr (requires { trial.mending_removals(); }) {
    for (std::string& line : trial.mending_removals()) judgement.notes.push_back(std::move(line));
  }
}

template <class Trial>
KernelJudgement judge(const KernelSubject& subject, const JudgeOptions& options, Trial& trial) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<KernelProperty> properties = effort_properties(subject, options, trial);
  KernelJudgement judgement;
  judgement.verdict = ReportVerdict::pass;
  judgement.not_tried = not_tried_of(subject, options);
  PropertySchedule schedule(properties, options, trial.watched());
  schedule.run();
  for (std::size_t i = 0; i < schedule.outcomes().size(); ++i) {
    add_outcome(properties[i].property, schedule.outcomes()[i], judgement);
  }
  if (!trial.watched().timed_out()) tell_plainly(properties, options.run, judgement);
  choose_gravest(judgement);
  end_early(schedule, judgement);
  weigh(trial, judgement);
  if (judgement.calls > judgement.refused) add_sizes(trial.sizes(), judgement);
  require_decided_claims(trial, subject.domain, judgement);
  // A failing property stops early, so only a pass has made all calls.
  if (judgement.verdict == ReportVerdict::pass) note_unmet(judgement);
  explain_refusals(subject, trial, judgement);
  note_exp_of_zero(subject, judgement);
  if (!note_interpreter(subject, judgement)) note_granting_contract(subject, options, judgement);
  if constexpr (requires { trial.hints(); }) {
    for (std::string& line : trial.hints().lines(subject)) judgement.notes.push_back(std::move(line));
  }
  if (judgement.ended_early.empty()) {
    keep_failing_call(properties, trial.watched(), judgement);
    note_mending_removals(trial, judgement);
  }
  judgement.seconds = seconds_since(start);
  return judgement;
}

template <class Trial>
KernelJudgement replayed(const KernelSubject& subject, std::string_view name, std::string_view case_text,
                         const JudgeOptions& options, Trial& trial) {
  const auto start = std::chrono::steady_clock::now();
  KernelJudgement judgement;
  judgement.verdict = ReportVerdict::pass;
  std::string known;
  trial.watched().keep_calls(true);
  RunOptions run = options.run;
  run.shrinks = 0;
  for (const auto& [candidate, cases] : effort_properties(subject, options, trial)) {
    known += ' ' + candidate.name();
    // Default effort lists a property twice: as quick effort draws it, and with its own cases.
    if (candidate.name() != name || !judgement.properties.empty()) continue;
    add_outcome(candidate, candidate.replay(case_text, run), judgement);
  }
  if (judgement.properties.empty()) {
    throw std::invalid_argument("need one of" + known + ", got '" + std::string(name) + "'");
  }
  if (judgement.properties.front().outcome.interrupted) {
    judgement.ended_early = options.interrupted && options.interrupted() ? "interrupted" : budget_spent;
  }
  weigh(trial, judgement);
  judgement.passed = passed_call(judgement.counterexample);
  note_mending_removals(trial, judgement);
  judgement.seconds = seconds_since(start);
  return judgement;
}

}  // namespace

KernelJudgement judge_kernel(const KernelSubject& subject, const JudgeOptions& given) {
  JudgeOptions options = interruptible(given);
  // A deadline replaces the effort's own limit.
  if (options.deadline != std::chrono::steady_clock::time_point::max()) {
    options.enough = std::chrono::steady_clock::duration::max();
  }
  options.limits.most_calls = options.max_calls;
  if (options.effort == Effort::exhaustive) return judge_exhaustively(subject, options).judgement;
  limit_quick_rows(subject.op, options);
  if (subject.op->is_attention()) {
    AttentionTrial trial(subject, options.limits);
    return judge(subject, options, trial);
  }
  KernelTrial trial(subject, options.limits);
  return judge(subject, options, trial);
}

KernelJudgement replay_kernel(const KernelSubject& subject, std::string_view property, std::string_view case_text,
                              const JudgeOptions& given) {
  const JudgeOptions options = interruptible(given);
  const bool of_loading = property == std::string(kernel_suite) + "." + loading_sentence;
  if (subject.op->is_attention()) {
    if (!of_loading) require_replayable_attention(subject, case_text);
    AttentionTrial trial(subject, options.limits);
    return replayed(subject, property, case_text, options, trial);
  }
  if (!of_loading) require_replayable(subject, case_text);
  KernelTrial trial(subject, options.limits);
  return replayed(subject, property, case_text, options, trial);
}

}  // namespace softcheck::proptests
