#include <chrono>
#include <filesystem>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>

#include "judge/call/evidence.hpp"
#include "judge/campaigns/shard_file.hpp"
#include "judge/campaigns/shard_run.hpp"
#include "judge/kernel_judge.hpp"
#include "judge/report/kernel_report.hpp"
#include "models/architectures/description.hpp"
#include "models/read/checkpoint.hpp"
#include "models/report/checkpoint_run.hpp"
#include "models/report/stored_report.hpp"
#include "proptests/engine/interrupted.hpp"

namespace softcheck::proptests {
namespace {

JudgeOptions options_of(const JudgementQuestion& asked, const std::function<bool()>& interrupted) {
  JudgeOptions options = judge_options(asked.effort);
  options.run.seed = asked.seed;
  if (asked.cases) options.run.cases = *asked.cases;
  options.limits.seconds_per_call = asked.seconds_per_call;
  options.interrupted = interrupted;
  // Answers must not depend on the machine's speed.
  options.enough = std::chrono::steady_clock::duration::max();
  return options;
}

/// Moves printed lines out of the judgement: they may contain addresses and times.
void take_printed(KernelJudgement& judgement, JudgedAnswer& answer) {
  answer.printed = std::exchange(judgement.printed_lines, {});
  judgement.printed_bytes = 0;
  for (PropertyFinding& property : judgement.properties) {
    if (!property.outcome.counterexample) continue;
    for (numerics::Certificate& certificate : property.outcome.counterexample->failed) {
      const KernelEvidence* evidence = evidence_of(certificate);
      if (evidence == nullptr || !evidence->ending || evidence->ending->printed.empty()) continue;
      KernelEvidence silent = *evidence;
      silent.ending->printed.clear();
      certificate.evidence = std::make_shared<const KernelEvidence>(std::move(silent));
    }
  }
}

/// "lib.so:f softmax f32 [...]", with the library's name from the plan, and how it was judged.
std::string subject_of(const JudgementQuestion& asked, const std::string& name) {
  const std::string file = std::filesystem::path(asked.subject.source.library).filename().string();
  std::string result = name.starts_with(file) ? asked.subject.source.library + name.substr(file.size()) : name;
  if (result.starts_with("./")) result.erase(0, 2);
  return result + ", " + to_string(asked.effort) + " effort, seed " + std::to_string(asked.seed);
}

std::vector<ReportRow> rows_of_answer(const JudgementQuestion& asked, const KernelJudgement& judgement) {
  std::vector<ReportRow> rows = rows_of(asked.subject, judgement);
  for (ReportRow& row : rows) {
    row.subject = subject_of(asked, row.subject);
    row.seconds = std::numeric_limits<double>::quiet_NaN();
    row.failed.clear();
    row.coverage.clear();
  }
  return rows;
}

bool is_answer(KernelLoadError::Reason reason) {
  return reason == KernelLoadError::Reason::no_such_symbol || reason == KernelLoadError::Reason::died_while_loading;
}

KernelJudgement unloadable(const KernelLoadError& error) {
  KernelJudgement judgement;
  const bool died = error.reason == KernelLoadError::Reason::died_while_loading;
  judgement.verdict = died ? ReportVerdict::crash : ReportVerdict::refused;
  judgement.notes.emplace_back(error.what());
  return judgement;
}

KernelJudgement judged(const JudgementQuestion& asked, const JudgeOptions& options) {
  try {
    return judge_kernel(asked.subject, options);
  } catch (const KernelLoadError& error) {
    if (!is_answer(error.reason)) throw;
    return unloadable(error);
  }
}

constexpr double no_time = std::numeric_limits<double>::quiet_NaN();

models::CheckpointQuestion question_of(const LayerQuestion& asked, const ShardRun& run) {
  models::CheckpointQuestion question;
  question.path = asked.model;
  question.options = asked.options;
  question.layers = std::to_string(asked.layer);
  question.fail_if = asked.fail_if;
  question.vocabulary = asked.vocabulary && asked.layer == 0;
  question.threads = 1;  // cores work on different shards
  question.stop = run.interrupted;
  return question;
}

std::string subject_of(const LayerQuestion& asked) { return asked.model + ", layer " + std::to_string(asked.layer); }

JudgedAnswer refused(const LayerQuestion& asked, const std::string& why) {
  JudgedAnswer answer;
  ReportRow row;
  row.claim = "model.certified";
  row.subject = subject_of(asked);
  row.verdict = ReportVerdict::refused;
  row.seconds = no_time;
  row.details = {why};
  answer.rows = {row};
  return answer;
}

}  // namespace

JudgedAnswer answer_of(const JudgementQuestion& asked, const ShardRun& run) {
  JudgedAnswer answer;
  if (const auto found = run.digests.find(asked.subject.source.library); found != run.digests.end()) {
    answer.source_sha256 = found->second;
  }
  KernelJudgement judgement = judged(asked, options_of(asked, run.interrupted));
  if (!judgement.ended_early.empty()) throw Interrupted();
  answer.isolation = std::exchange(judgement.isolation, {});
  take_printed(judgement, answer);
  answer.rows = rows_of_answer(asked, judgement);
  return answer;
}

JudgedAnswer answer_of(const LayerQuestion& asked, const ShardRun& run) {
  try {
    const models::CheckpointReport report = models::certify_checkpoint(question_of(asked, run));
    if (report.stopped) throw Interrupted();
    JudgedAnswer answer;
    answer.rows = rows_of(report.certificates, subject_of(asked), no_time);
    for (ReportRow& row : answer.rows) row.failed.clear();
    answer.layer = models::stored_report(report);
    const std::unique_ptr<models::Checkpoint> file = models::open_checkpoint(asked.model);
    const CheckpointDigests digests =
        checkpoint_digests(*file, report.model, static_cast<int>(asked.layer), asked.vocabulary && asked.layer == 0);
    answer.checkpoint_sha256 = digests.checkpoint;
    answer.source_sha256 = digests.layer;
    return answer;
  } catch (const models::UnsupportedTensorFile& error) {
    return refused(asked, error.what());
  } catch (const std::range_error& error) {
    return refused(asked, asked.model + ": " + error.what());
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(asked.model + ": " + error.what());
  }
}

}  // namespace softcheck::proptests
