#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "judge/campaigns/plan.hpp"
#include "judge/campaigns/shard_file.hpp"

namespace softcheck::proptests {

/// A shard runs in its campaign's folder: the working folder is the earlier one again at the end of a scope.
class StateFolder {
 public:
  StateFolder() : before_(std::filesystem::current_path()) {}
  ~StateFolder() { std::filesystem::current_path(before_); }
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

 private:
  std::filesystem::path before_;
};

/// A folder of this process that goes with the test.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_(std::filesystem::path(testing::TempDir()) / ("softcheck-campaign-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A plan of some shards with two judgements each, and a file for each shard whose answers are made up.
struct SampleCampaign {
  Plan plan;
  std::vector<ShardFile> files;
};

/// Of the shapes that judges give: no slack, an infinite one, errors, details that a terminal must not get.
inline std::vector<ReportRow> sample_rows(const JudgementQuestion& asked, double number) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string subject = asked.subject.source.symbol + ", seed " + std::to_string(asked.seed);
  ReportRow value, whole;
  value.claim = "kernel.softmax.element";
  value.subject = whole.subject = subject;
  value.cases = 10;
  value.slack = asked.seed == 1 ? std::numeric_limits<double>::infinity() : number / 3;
  value.verdict = asked.seed == 1 ? ReportVerdict::fail : ReportVerdict::pass;
  value.seconds = whole.seconds = nan;
  value.details = {"row f32 theta=0x1p-3", "\x1b[2J \xff"};
  value.errors = ErrorStatistics{5, number / 7, nan, -number, 1e300, "a witness"};
  whole.claim = "kernel.verdict";
  whole.cases = 11;
  whole.verdict = value.verdict;
  whole.not_tried = {"indices beyond 2^31"};
  return {value, whole};
}

inline SampleCampaign sample_campaign(int kernels) {
  std::string text = "name = \"sample\"\nshard = 2\nseed = [1, 2]\n[[kernels]]\nkernel = [";
  for (int i = 0; i < kernels; ++i) text += "\"a.so:f" + std::to_string(i) + "\",";
  SampleCampaign sample;
  sample.plan = parse_plan(text + "]\n", "plan.toml");
  double number = 0.1;
  for (const Shard& shard : sample.plan.shards) {
    ShardFile file{shard.key, sample.plan.hash, "0.2.0", "abc", "x86_64", {}};
    for (const Question& asked : shard.asked) {
      number += 0.1;
      JudgedAnswer answer;
      answer.asked = asked.text();
      answer.source_sha256 = "d1";
      answer.rows = sample_rows(std::get<JudgementQuestion>(asked.about), number);
      answer.seconds = number;
      answer.isolation = "namespaces";
      answer.printed = {"0x7f"};
      file.answers.push_back(std::move(answer));
    }
    sample.files.push_back(file);
  }
  return sample;
}

}  // namespace softcheck::proptests
