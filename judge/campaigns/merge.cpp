#include "judge/campaigns/merge.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <variant>

#include "judge/op/op.hpp"
#include "models/report/stored_report.hpp"

namespace softcheck::proptests {
namespace {

using Answers = std::vector<const JudgedAnswer*>;

void require_one(const char* what, std::string& first, const std::string& other) {
  if (first.empty()) first = other;
  if (first == other) return;
  throw MergeError(std::string("need files of one ") + what + ", got '" + std::min(first, other) + "' and '" +
                   std::max(first, other) + "'");
}

/// The files of the plan's shards.
std::vector<const ShardFile*> files_of(const Plan& plan, const std::vector<ShardFile>& files) {
  std::set<std::string> keys;
  for (const Shard& shard : plan.shards) keys.insert(shard.key);
  std::vector<const ShardFile*> wanted;
  for (const ShardFile& file : files) {
    if (keys.contains(file.key)) wanted.push_back(&file);
  }
  return wanted;
}

/// All answers by question.
std::map<std::string, Answers> answers_of(const std::vector<const ShardFile*>& files) {
  std::map<std::string, Answers> answers;
  for (const ShardFile* file : files) {
    for (const JudgedAnswer& answer : file->answers) answers[answer.asked].push_back(&answer);
  }
  return answers;
}

ReportVerdict verdict_of(const JudgedAnswer& answer) { return Report{answer.rows}.verdict(); }

/// Orders by verdict, worst first, then by text, so that the order of files does not matter.
bool comes_before(const JudgedAnswer& a, const JudgedAnswer& b) {
  const ReportVerdict left = verdict_of(a), right = verdict_of(b);
  return left != right ? left < right : answer_text(a) < answer_text(b);
}

/// The answer that counts, and whether all files agree on it.
struct Chosen {
  const JudgedAnswer* answer;
  bool agree;
};

Chosen chosen_of(const Answers& answers) {
  const JudgedAnswer* chosen = answers.front();
  bool agree = true;
  for (const JudgedAnswer* answer : answers) {
    agree &= answer_text(*answer) == answer_text(*answers.front());
    if (comes_before(*answer, *chosen)) chosen = answer;
  }
  return {chosen, agree};
}

void add_difference(const Chosen& chosen, std::vector<ReportRow>& rows) {
  if (chosen.agree || chosen.answer->rows.empty()) return;
  ReportRow differs;
  differs.claim = "campaign.same_answer";
  differs.subject = chosen.answer->rows.front().subject;
  differs.cases = 1;
  differs.verdict = ReportVerdict::fail;
  differs.seconds = std::numeric_limits<double>::quiet_NaN();
  differs.details = {"two processes were asked the same and got different answers; the worse one is shown"};
  rows.push_back(std::move(differs));
}

/// The library as the plan names it.
std::string library_of(const JudgementQuestion& asked) {
  const std::string& library = asked.subject.source.library;
  return library.starts_with("./") ? library.substr(2) : library;
}

MergedCampaign::Answer described(const JudgementQuestion& asked, std::vector<ReportRow> rows) {
  const KernelSubject& subject = asked.subject;
  std::string dtype(numerics::properties(subject.contract.input).name);
  if (subject.contract.output != output_format(subject.op, subject.contract.input)) {
    dtype += " -> " + std::string(numerics::properties(subject.contract.output).name);
  }
  std::string words = numerics::to_string(subject.contract);
  if (!subject.domain.everything()) words += " on " + to_string(subject.domain);
  return {library_of(asked) + ":" + subject.source.symbol, std::string(to_string(subject.op)), dtype, words,
          std::move(rows)};
}

std::vector<HostShare> hosts_of(const std::vector<const ShardFile*>& files) {
  std::map<std::string, HostShare> by_name;
  for (const ShardFile* file : files) {
    HostShare& host = by_name[file->host];
    host.host = file->host;
    for (const JudgedAnswer& answer : file->answers) {
      ++host.answers;
      host.seconds += answer.seconds;
    }
  }
  std::vector<HostShare> hosts;
  for (auto& [name, host] : by_name) hosts.push_back(std::move(host));
  return hosts;
}

/// Puts answers into the report, in the plan's order.
class Merger {
 public:
  explicit Merger(MergedCampaign& merged) : merged_(merged) {}

  void add(const JudgementQuestion& asked, const Answers& answers) {
    std::string& digest = libraries_[library_of(asked)];
    for (const JudgedAnswer* answer : answers) require_one("file of a library", digest, answer->source_sha256);
    const Chosen chosen = chosen_of(answers);
    std::vector<ReportRow> rows = chosen.answer->rows;
    add_difference(chosen, rows);
    merged_.answers.push_back(described(asked, std::move(rows)));
  }

  void add(const LayerQuestion& asked, const Answers& answers) {
    const auto [place, added] = models_.try_emplace(asked.question(), parts_.size());
    if (added) {
      parts_.push_back({asked, {}});
      merged_.models.push_back({asked.model, asked.question(), "", {}, {}});
    }
    MergedModel& model = merged_.models[place->second];
    for (const JudgedAnswer* answer : answers) {
      if (!answer->checkpoint_sha256.empty()) require_one("checkpoint", model.checkpoint, answer->checkpoint_sha256);
    }
    const Chosen chosen = chosen_of(answers);
    if (chosen.answer->layer.empty()) {
      model.rows.insert(model.rows.end(), chosen.answer->rows.begin(), chosen.answer->rows.end());
    } else {
      parts_[place->second].layers.emplace(asked.layer, chosen.answer);
    }
    add_difference(chosen, model.rows);
  }

  void add(const TrainingQuestion& asked, const Answers& answers) {
    const auto [place, added] = trainings_.try_emplace(asked.question(), merged_.trainings.size());
    if (added) merged_.trainings.push_back({asked.question(), asked.is_language(), {}});
    const Chosen chosen = chosen_of(answers);
    MergedTraining::Network network{asked.seed(), chosen.answer->rows, chosen.answer->network};
    add_difference(chosen, network.rows);
    merged_.trainings[place->second].networks.push_back(std::move(network));
  }

  void finish() {
    merged_.libraries.assign(libraries_.begin(), libraries_.end());
    for (std::size_t i = 0; i < parts_.size(); ++i) join(parts_[i], merged_.models[i]);
  }

 private:
  struct Parts {
    LayerQuestion asked;
    std::map<std::int64_t, const JudgedAnswer*> layers;
  };

  static void join(const Parts& parts, MergedModel& model) {
    if (parts.layers.empty()) return;
    std::vector<models::CheckpointReport> reports;
    try {
      for (const auto& [layer, answer] : parts.layers) reports.push_back(models::report_from(answer->layer));
      model.report = models::joined(std::move(reports), parts.asked.fail_if);
    } catch (const std::invalid_argument& error) {
      throw MergeError(parts.asked.model + ": " + error.what());
    }
    std::vector<ReportRow> rows =
        rows_of(model.report->certificates, model.path, std::numeric_limits<double>::quiet_NaN());
    model.rows.insert(model.rows.begin(), rows.begin(), rows.end());
  }

  MergedCampaign& merged_;
  std::map<std::string, std::string> libraries_;
  std::map<std::string, std::size_t> models_, trainings_;
  std::vector<Parts> parts_;
};

}  // namespace

Report MergedCampaign::report() const {
  Report report;
  const auto add = [&](const std::vector<ReportRow>& rows) {
    report.rows.insert(report.rows.end(), rows.begin(), rows.end());
  };
  for (const Answer& answer : answers) add(answer.rows);
  for (const MergedModel& model : models) add(model.rows);
  for (const MergedTraining& training : trainings) {
    for (const MergedTraining::Network& network : training.networks) add(network.rows);
  }
  return report;
}

MergedCampaign merge(const Plan& plan, const std::vector<ShardFile>& files) {
  MergedCampaign merged;
  merged.name = plan.name;
  merged.plan = plan.hash;
  const std::vector<const ShardFile*> wanted = files_of(plan, files);
  const std::map<std::string, Answers> answers = answers_of(wanted);
  Merger merger(merged);
  for (const Shard& shard : plan.shards) {
    bool complete = true;
    for (const Question& asked : shard.asked) {
      const auto found = answers.find(printable_utf8(asked.text()));
      if (found == answers.end()) {
        complete = false;
        continue;
      }
      std::visit([&](const auto& one) { merger.add(one, found->second); }, asked.about);
    }
    if (!complete) merged.missing.push_back(shard.key);
  }
  for (const ShardFile* file : wanted) {
    require_one("commit", merged.commit, file->commit);
    require_one("version", merged.version, file->version);
  }
  merger.finish();
  merged.hosts = hosts_of(wanted);
  return merged;
}

}  // namespace softcheck::proptests
