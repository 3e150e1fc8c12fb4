#include "judge/exhaustive/exhaustive_judge.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

#include "judge/exhaustive/claim_tallies.hpp"
#include "judge/exhaustive/enumerated_block.hpp"
#include "judge/exhaustive/enumeration.hpp"
#include "judge/exhaustive/exhaustive_state.hpp"
#include "judge/exhaustive/exponential_ladder.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "judge/trial/kernel_properties.hpp"
#include "judge/trial/plainest_case.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Enclosures judge a row in one of this many blocks even if the quick test proved it. These samples count vacuous
// thresholds, and reveal a wrong quick test.
constexpr std::uint64_t blocks_between_samples = 16;
// Places in the picture per binade of arguments.
constexpr int places_of_binade = 16;
constexpr const char* ended = "interrupted, or the time budget was spent";
// Time between two saved states: the most that a kill -9 can cost.
constexpr std::chrono::seconds between_states(20);

class ExhaustiveTrial {
 public:
  ExhaustiveTrial(const KernelSubject& subject, const JudgeOptions& options)
      : subject_(subject), options_(options), kernel_(subject, options.limits), tallies_(subject) {
    enumerations_ = enumerations_of(subject, options.arguments, skipped_);
    if (subject.op->is_attention()) {
      block_ = std::make_unique<ScoresBlock>(subject);
    } else {
      auto logits = std::make_unique<LogitsBlock>(subject);
      logits_ = logits.get();
      block_ = std::move(logits);
    }
    for (const auto& one : enumerations_) progress_.cases += one->blocks();
    if (!options.resume.empty()) restore();
  }

  ExhaustiveJudgement run() {
    while (state_.enumeration < enumerations_.size() && reason_.empty() && !is_over()) {
      try {
        run(*enumerations_[state_.enumeration]);
      } catch (const Interrupted&) {
        reason_ = ended;
      }
      finish_statement();
      if (reason_.empty() && !is_over()) {
        ++state_.enumeration;
        state_.block = 0;
        state_.ladder.reset();
        ladder_.reset();
      }
    }
    keep();
    weigh();
    result_.statements = std::move(state_.statements);
    result_.processor_seconds = processor_seconds();
    return std::move(result_);
  }

 private:
  bool is_over() const { return tallies_.failure() || !kernel_.broken().empty() || kernel_.is_lost(); }

  void run(const Enumeration& rows) {
    const Clock::time_point start = Clock::now();
    if (state_.statements.size() == state_.enumeration) {
      state_.statements.emplace_back().name = rows.name();
      state_.statements.back().rows = rows.rows_before(rows.blocks());
    }
    ExhaustiveStatement& statement = state_.statements.back();
    const double seconds_before = statement.seconds;
    if (logits_ != nullptr) logits_->forget();
    for (; state_.block < rows.blocks() && !is_over(); ++state_.block) {
      if (options_.run.interrupted && options_.run.interrupted()) {
        reason_ = ended;
        break;
      }
      if (Clock::now() - saved_at_ > between_states) keep();
      tell(rows, state_.block);
      if (!judge(rows, state_.block, statement)) break;
      statement.seconds = seconds_before + seconds_since(start);
    }
    if (ladder_) {
      statement.least_exponential = ladder_->word();
      statement.exponential_at = ladder_->broken_at();
    }
  }

  // Saves the state, except after a failure: a resumed judgement then calls the kernel again.
  void keep() {
    saved_at_ = Clock::now();
    if (options_.resume.empty() || is_over()) return;
    state_.sums = tallies_.sums();
    state_.notes.insert(kernel_.notes().begin(), kernel_.notes().end());
    if (ladder_) state_.ladder = {ladder_->rung(), ladder_->broken_at()};
    ExhaustiveState now = state_;
    now.calls += kernel_.kernel().calls();
    now.refused_calls += kernel_.refused();
    now.seconds += seconds_since(start_);
    now.processor_seconds = processor_seconds();
    write_state(now, options_.resume);
  }

  void restore() {
    state_.subject = identity_of(subject_, enumerations_);
    std::optional<ExhaustiveState> known = read_state(options_.resume, state_.subject);
    if (!known) return;
    if (!is_of(*known, enumerations_)) {
      throw ResumeError("resume: need an undamaged file of this judgement, got " + options_.resume);
    }
    state_ = std::move(*known);
    tallies_.restore(state_.sums);
  }

  double processor_seconds() const {
    return state_.processor_seconds + static_cast<double>(std::clock() - processor_start_) / CLOCKS_PER_SEC;
  }
  std::size_t calls() { return state_.calls + kernel_.kernel().calls(); }
  std::size_t refused_calls() const { return state_.refused_calls + kernel_.refused(); }

  void tell(const Enumeration& rows, std::uint64_t block) {
    if (!options_.progress || block % 8 != 0) return;
    progress_.property = rows.name();
    progress_.done = block;
    for (std::size_t k = 0; k < state_.enumeration; ++k) progress_.done += enumerations_[k]->blocks();
    progress_.seconds = seconds_since(start_);
    options_.progress(progress_);
  }

  // Judges a block by one call, or by as many as the domain requires. False to skip the rest of the enumeration.
  bool judge(const Enumeration& rows, std::uint64_t block, ExhaustiveStatement& statement) {
    const RowShape shape = rows.shape(block);
    const std::size_t count = rows.rows(block), numbers = rows.numbers(block);
    const auto each = static_cast<std::size_t>(properties(subject_.contract.input).storage_bits) / 8;
    bytes_.resize(numbers * each);
    rows.fill(block, bytes_);
    const std::size_t of_rows = (subject_.op->is_attention() ? count : numbers) * each;
    const BlockBytes parts{std::span(bytes_).first(of_rows), std::span(bytes_).subspan(of_rows)};
    const std::size_t refused_before = kernel_.refused();
    if (!kernel_.call(shape, count, parts, results_)) {
      if (kernel_.refused() > refused_before) state_.refused.insert(rows.name());
      return false;
    }
    block_->read(shape, count, parts, results_);
    if (rows.is_measured()) set_ladder(shape);
    const BlockFindings found = block_->judge();
    add(count, found, statement);
    const std::size_t sampled = rows.sampled_row(block);
    if (block % blocks_between_samples == 0 && !std::ranges::binary_search(found.open, sampled)) {
      enclose(sampled, false, statement);
    }
    if (ladder_ && !is_over()) measure(found.tests.front());
    draw(rows.argument(block), found.tests.front());
    statement.judged += count;
    return true;
  }

  void set_ladder(const RowShape& shape) {
    // The quick test's own errors in double are too large to measure an f64 kernel.
    if (ladder_ || properties(subject_.contract.output).precision > 24) return;
    ladder_ = std::make_unique<ExponentialLadder>(subject_, shape);
    if (state_.ladder) ladder_->restore(state_.ladder->rung, state_.ladder->broken_at);
  }

  // Judges a row by enclosures; `counted` is false if the quick test counted it.
  void enclose(std::size_t row, bool counted, ExhaustiveStatement& statement) {
    const EnumeratedRow one = block_->row(row);
    const ClaimTallies::Worst worst = tallies_.add(one, opinion_of(subject_.op, subject_.contract, one), counted);
    statement.share_at_most = std::fmax(statement.share_at_most, worst.share);
    if (!(worst.share > statement.share)) return;
    statement.share = worst.share;
    statement.claim = worst.claim;
    statement.worst = block_->text(row, worst.item);
  }

  void add(std::size_t count, const BlockFindings& found, ExhaustiveStatement& statement) {
    tallies_.add_proved(count - found.open.size() - found.nans, found.shares);
    for (std::size_t k = 0; k < found.tests.size(); ++k) {
      const QuickFindings& test = found.tests[k];
      if (test.ulps == 0) continue;
      tallies_.add_errors(
          k, test, [&] { return case_text_of(subject_.op, subject_.contract.input, block_->row(test.worst_row)); });
    }
    std::uint64_t nans = found.nans;
    for (const std::size_t row : found.open) {
      if (is_nan_as_due(block_->row(row))) {
        ++nans;
      } else {
        enclose(row, true, statement);
      }
    }
    tallies_.add_nan_rows(nans);
    // Computes the share of the row that used most exactly. The others were compared with lower bounds of their
    // thresholds, so none of them uses more.
    const QuickFindings& closest = found.closest();
    if (closest.share > statement.share) enclose(closest.share_row, false, statement);
    statement.share_at_most = std::fmax(statement.share_at_most, closest.share);
  }

  void measure(const QuickFindings& found) {
    ladder_->judge(
        logits_->quick(), found, logits_->logits(), logits_->got(), [&](std::size_t row) { return block_->row(row); },
        [&](std::size_t row) { return block_->text(row, std::nullopt); });
  }

  void draw(double argument, const QuickFindings& found) {
    if (!(argument > 0) || found.ulps == 0) return;
    const int place = static_cast<int>(std::floor(std::log2(argument) * places_of_binade));
    ArgumentError& error = state_.places[{state_.statements.size() - 1, place}];
    error.enumeration = state_.statements.size() - 1;
    if (error.argument == 0) error.argument = argument;
    if (found.worst_ulps > error.ulps) {
      error.ulps = found.worst_ulps;
      error.allowed_ulps = found.worst_allowed;
    }
    error.share = std::fmax(error.share, found.share);
  }

  void finish_statement() {
    ExhaustiveStatement& statement = state_.statements.back();
    const bool whole = statement.judged == statement.rows;
    statement.verdict = whole ? ReportVerdict::pass : ReportVerdict::undecided;
    if (state_.refused.contains(statement.name)) statement.verdict = ReportVerdict::refused;
    if (is_over()) statement.verdict = ReportVerdict::fail;
  }

  // Adds a finding of the property that replays its case.
  void add_finding(const std::string& property, const std::string& case_text, std::size_t size, Certificates failed) {
    Outcome outcome;
    outcome.verdict = worst(failed);
    outcome.cases = 1;
    outcome.counterexample = Counterexample{case_text, size, std::move(failed), "", 0, case_text};
    const ReportVerdict verdict = verdict_of_outcome(outcome);
    KernelJudgement& judgement = result_.judgement;
    if (verdict < judgement.verdict) {
      judgement.verdict = verdict;
      judgement.failed_property = std::string(kernel_suite) + "." + property;
      judgement.counterexample = outcome.counterexample;
    }
    judgement.properties.push_back({std::string(kernel_suite) + "." + property, std::move(outcome), verdict});
  }

  void add_claims() {
    Outcome outcome;
    outcome.verdict = Verdict::proved;
    outcome.seconds = state_.seconds + seconds_since(start_);
    outcome.claims = tallies_.sums().claims;
    const std::size_t answered = calls() - refused_calls();
    for (const char* claim :
         {"kernel.returns", "kernel.keeps_inputs", "kernel.stays_inside", "kernel.keeps_environment"}) {
      if (!subject_.exempt.contains(claim)) outcome.claims[claim] = {answered, 0, 0};
    }
    if (!subject_.domain.everything()) outcome.claims["kernel.accepts"] = {answered, 0, 0};
    for (const auto& [claim, summary] : outcome.claims) outcome.cases += static_cast<int>(summary.decided > 0);
    result_.judgement.properties.push_back(
        {std::string(kernel_suite) + "." + plainest_property, std::move(outcome), ReportVerdict::pass});
  }

  void weigh() {
    KernelJudgement& judgement = result_.judgement;
    judgement.verdict = ReportVerdict::pass;
    add_claims();
    if (tallies_.failure()) {
      const ClaimTallies::Failure& failure = *tallies_.failure();
      // Rows with a NaN, an infinity or no visible item replay under a property that has all three.
      add_finding(failure.special ? "EveryPairOfClassesIsComputed" : plainest_property, failure.case_text, failure.size,
                  failure.failed);
    }
    for (const EnumeratedKernel::Broken& broken : kernel_.broken()) {
      add_finding(broken.special ? "EveryPairOfClassesIsComputed" : plainest_property, broken.case_text, broken.size,
                  {broken.certificate});
    }
    judgement.errors = tallies_.sums().errors;
    judgement.vacuity = tallies_.sums().vacuity;
    judgement.calls = calls();
    judgement.refused = refused_calls();
    judgement.printed_bytes = kernel_.kernel().printed_bytes();
    judgement.printed_lines = kernel_.kernel().printed_lines();
    judgement.isolation = kernel_.kernel().isolation();
    for (const ExhaustiveStatement& statement : state_.statements) {
      judgement.rows += statement.judged;
      judgement.notes.push_back(statement.text());
    }
    state_.notes.insert(kernel_.notes().begin(), kernel_.notes().end());
    for (const std::set<std::string>* notes : {&tallies_.sums().notes, &std::as_const(state_.notes)}) {
      judgement.notes.insert(judgement.notes.end(), notes->begin(), notes->end());
    }
    weigh_what_is_left();
    for (const auto& [place, error] : state_.places) result_.errors.push_back(error);
    judgement.seconds = state_.seconds + seconds_since(start_);
  }

  void weigh_what_is_left() {
    KernelJudgement& judgement = result_.judgement;
    judgement.not_tried = skipped_;
    const auto at_least = [&](ReportVerdict verdict) { judgement.verdict = std::min(judgement.verdict, verdict); };
    if (!reason_.empty()) {
      judgement.ended_early = reason_;
      at_least(ReportVerdict::undecided);
    }
    for (const ExhaustiveStatement& statement : state_.statements) {
      if (statement.verdict == ReportVerdict::undecided) at_least(ReportVerdict::undecided);
    }
    for (std::size_t k = state_.statements.size(); k < enumerations_.size(); ++k) {
      judgement.not_tried.push_back(enumerations_[k]->name() + ": " +
                                    (reason_.empty() ? "the judge ended before" : reason_));
    }
    for (const std::string& name : state_.refused) judgement.notes.push_back("refused, and so not judged: " + name);
    if (judgement.rows == 0 && !state_.refused.empty()) at_least(ReportVerdict::refused);
    if (judgement.rows == 0 && state_.refused.empty()) at_least(ReportVerdict::vacuous);
    if (judgement.vacuity.too_many() || judgement.vacuity.too_many_unbounded()) {
      at_least(ReportVerdict::vacuous);
      judgement.notes.emplace_back("the contract's thresholds are as wide as the values that they judge");
    }
  }

  const KernelSubject& subject_;
  const JudgeOptions& options_;
  const Clock::time_point start_ = Clock::now();
  const std::clock_t processor_start_ = std::clock();
  EnumeratedKernel kernel_;
  ClaimTallies tallies_;
  std::vector<std::unique_ptr<Enumeration>> enumerations_;
  std::vector<std::string> skipped_;
  ExhaustiveState state_;  // calls, refused_calls and seconds are those of earlier processes
  Clock::time_point saved_at_ = Clock::now();
  std::string reason_;
  JudgeProgress progress_;
  ExhaustiveJudgement result_;
  std::unique_ptr<EnumeratedBlock> block_;
  LogitsBlock* logits_ = nullptr;  // the same object for row ops
  std::unique_ptr<ExponentialLadder> ladder_;
  std::vector<std::byte> bytes_;
  BlockResults results_;
};

}  // namespace

void require_enumerable(const KernelSubject& subject) {
  const Requirements& required = subject.required;
  if (required.deterministic || required.batch_invariant || required.in_place) {
    throw std::invalid_argument(
        "effort: exhaustive asks for each row once: need nothing required beside it, deterministic, "
        "batch-invariant or in-place");
  }
  if (subject.contract.lse == LseForm::running || subject.contract.lse == LseForm::base2) {
    throw std::invalid_argument("effort: exhaustive needs lse=centred or uncentred, got " +
                                word_of(subject.contract, "lse"));
  }
  if (subject.domain.bounds_logits() || subject.domain.fixed != nullptr) {
    throw std::invalid_argument(
        "effort: exhaustive asks for every logit: need a domain without logits<= and spread<=, and no fixed mask or "
        "bias");
  }
  if (subject.op == Op::attention) {
    const FormatProperties& input = properties(subject.contract.input);
    if (input.storage_bits <= 16) return;
    const int bits = 2 * input.storage_bits;
    throw std::invalid_argument("effort: exhaustive needs " + format_names(16) + " of attention, got " +
                                std::string(input.name) + ", whose queries and keys have 2^" + std::to_string(bits) +
                                " products");
  }
  std::string known;
  for (const Op op : row_ops()) {
    if (op.rows().arguments() == nullptr) continue;
    if (op == subject.op) return;
    known += std::string(to_string(op)) + ", ";
  }
  throw std::invalid_argument("effort: exhaustive needs one of the ops " + known + "attention, got " +
                              std::string(to_string(subject.op)));
}

ExhaustiveJudgement judge_exhaustively(const KernelSubject& subject, const JudgeOptions& options) {
  require_enumerable(subject);
  return ExhaustiveTrial(subject, options).run();
}

}  // namespace softcheck::proptests
