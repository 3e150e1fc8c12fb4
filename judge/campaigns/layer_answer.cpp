#include <limits>
#include <stdexcept>

#include "judge/campaigns/answers.hpp"
#include "judge/campaigns/checkpoint_digest.hpp"
#include "models/architectures/description.hpp"
#include "models/read/checkpoint.hpp"
#include "models/report/checkpoint_run.hpp"
#include "models/report/stored_report.hpp"
#include "proptests/engine/interrupted.hpp"

namespace softcheck::proptests {
namespace {

constexpr double no_time = std::numeric_limits<double>::quiet_NaN();

models::CheckpointQuestion question_of(const LayerQuestion& asked, const ShardRun& run) {
  models::CheckpointQuestion question;
  question.path = asked.model;
  question.options = asked.options;
  question.layers = std::to_string(asked.layer);
  question.fail_if = asked.fail_if;
  question.vocabulary = asked.vocabulary && asked.layer == 0;
  question.threads = 1;  // shards are what cores share
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
