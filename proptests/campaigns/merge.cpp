#include "proptests/campaigns/merge.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "proptests/judge/op.hpp"

namespace softcheck::proptests {
namespace {

using Answers = std::vector<const JudgedAnswer*>;

void require_one(const char* what, std::string& first, const std::string& other) {
  if (first.empty()) first = other;
  if (first == other) return;
  throw MergeError(std::string("need files of one ") + what + ", got '" + std::min(first, other) + "' and '" +
                   std::max(first, other) + "'");
}

/// Those of the plan's shards.
std::vector<const ShardFile*> files_of(const Plan& plan, const std::vector<ShardFile>& files) {
  std::set<std::string> keys;
  for (const Shard& shard : plan.shards) keys.insert(shard.key);
  std::vector<const ShardFile*> wanted;
  for (const ShardFile& file : files) {
    if (keys.contains(file.key)) wanted.push_back(&file);
  }
  return wanted;
}

/// By judgement: what all files say of it.
std::map<std::string, Answers> answers_of(const std::vector<const ShardFile*>& files) {
  std::map<std::string, Answers> answers;
  for (const ShardFile* file : files) {
    for (const JudgedAnswer& answer : file->answers) answers[answer.judgement].push_back(&answer);
  }
  return answers;
}

ReportVerdict verdict_of(const JudgedAnswer& answer) { return Report{answer.rows}.verdict(); }

/// The worse verdict first, then by text: no order of files decides.
bool comes_before(const JudgedAnswer& a, const JudgedAnswer& b) {
  const ReportVerdict left = verdict_of(a), right = verdict_of(b);
  return left != right ? left < right : answer_text(a) < answer_text(b);
}

std::vector<ReportRow> rows_of_one(const Answers& answers) {
  const JudgedAnswer* chosen = answers.front();
  bool agree = true;
  for (const JudgedAnswer* answer : answers) {
    agree &= answer_text(*answer) == answer_text(*answers.front());
    if (comes_before(*answer, *chosen)) chosen = answer;
  }
  std::vector<ReportRow> rows = chosen->rows;
  if (agree || rows.empty()) return rows;
  ReportRow differs;
  differs.claim = "campaign.same_answer";
  differs.subject = rows.front().subject;
  differs.cases = 1;
  differs.verdict = ReportVerdict::fail;
  differs.seconds = std::numeric_limits<double>::quiet_NaN();
  differs.details = {
      "two processes judged this kernel with one seed and got different answers; the worse one is shown"};
  rows.push_back(std::move(differs));
  return rows;
}

/// As the plan names it.
std::string library_of(const AskedJudgement& asked) {
  const std::string& library = asked.subject.source.library;
  return library.starts_with("./") ? library.substr(2) : library;
}

MergedCampaign::Answer described(const AskedJudgement& asked, std::vector<ReportRow> rows) {
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
      ++host.judgements;
      host.seconds += answer.seconds;
    }
  }
  std::vector<HostShare> hosts;
  for (auto& [name, host] : by_name) hosts.push_back(std::move(host));
  return hosts;
}

}  // namespace

Report MergedCampaign::report() const {
  Report report;
  for (const Answer& answer : answers) report.rows.insert(report.rows.end(), answer.rows.begin(), answer.rows.end());
  return report;
}

MergedCampaign merge(const Plan& plan, const std::vector<ShardFile>& files) {
  MergedCampaign merged;
  merged.name = plan.name;
  merged.plan = plan.hash;
  const std::vector<const ShardFile*> wanted = files_of(plan, files);
  const std::map<std::string, Answers> answers = answers_of(wanted);
  std::map<std::string, std::string> libraries;
  for (const Shard& shard : plan.shards) {
    bool complete = true;
    for (const AskedJudgement& asked : shard.judgements) {
      const auto found = answers.find(printable_utf8(asked.text()));
      if (found == answers.end()) {
        complete = false;
        continue;
      }
      std::string& digest = libraries[library_of(asked)];
      for (const JudgedAnswer* answer : found->second) require_one("file of a library", digest, answer->library_sha256);
      merged.answers.push_back(described(asked, rows_of_one(found->second)));
    }
    if (!complete) merged.missing.push_back(shard.key);
  }
  for (const ShardFile* file : wanted) {
    require_one("commit", merged.commit, file->commit);
    require_one("version", merged.version, file->version);
  }
  merged.libraries.assign(libraries.begin(), libraries.end());
  merged.hosts = hosts_of(wanted);
  return merged;
}

}  // namespace softcheck::proptests
