#include "judge/campaigns/merge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>

#include "judge/campaigns/campaign_report.hpp"
#include "proptests/tests/campaigns/campaign_samples.hpp"

namespace softcheck::proptests {
namespace {

using ::testing::HasSubstr;

std::string views(const MergedCampaign& campaign) {
  return to_text(campaign) + to_json(campaign) + to_html(campaign) + to_junit(campaign.report());
}

std::size_t rows_with(const MergedCampaign& campaign, const std::string& claim) {
  const Report report = campaign.report();
  return static_cast<std::size_t>(std::ranges::count(report.rows, claim, &ReportRow::claim));
}

TEST(MergedCampaigns, NoOrderOfFilesIsSeen) {
  SampleCampaign sample = sample_campaign(6);
  const std::string expected = views(merge(sample.plan, sample.files));
  std::mt19937 random(20241001);
  for (int i = 0; i < 20; ++i) {
    std::ranges::shuffle(sample.files, random);
    EXPECT_EQ(views(merge(sample.plan, sample.files)), expected);
  }
}

TEST(MergedCampaigns, NoMachineIsSeen) {
  SampleCampaign sample = sample_campaign(4);
  const std::string expected = views(merge(sample.plan, sample.files));
  for (ShardFile& file : sample.files) {
    file.host = "another machine";
    for (JudgedAnswer& answer : file.answers) {
      answer.seconds = 99;
      answer.isolation = "none";
    }
  }
  sample.files[0].host = "a third";
  const MergedCampaign elsewhere = merge(sample.plan, sample.files);
  EXPECT_EQ(views(elsewhere), expected);
  EXPECT_EQ(hosts_to_tsv(elsewhere), "host\tanswers\tseconds\na third\t2\t198.0\nanother machine\t6\t594.0\n");
}

TEST(MergedCampaigns, EveryJudgementIsThereOnce) {
  const SampleCampaign sample = sample_campaign(6);
  const MergedCampaign merged = merge(sample.plan, sample.files);
  EXPECT_TRUE(merged.missing.empty());
  ASSERT_EQ(merged.answers.size(), sample.plan.asked());
  EXPECT_EQ(rows_with(merged, "kernel.verdict"), 12U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(merged.answers[2 * i].kernel, "a.so:f" + std::to_string(i));
    EXPECT_EQ(merged.answers[2 * i].rows[0].subject, "f" + std::to_string(i) + ", seed 1");
    EXPECT_EQ(merged.answers[2 * i + 1].rows[0].slack, sample.files[i].answers[1].rows[0].slack);
  }
  EXPECT_EQ(merged.report().verdict(), ReportVerdict::fail);
}

TEST(MergedCampaigns, ADuplicateCountsOnce) {
  SampleCampaign sample = sample_campaign(4);
  const std::string expected = views(merge(sample.plan, sample.files));
  sample.files.push_back(sample.files[2]);
  sample.files.push_back(sample.files[0]);
  sample.files.back().answers[0].seconds = 1000;
  EXPECT_EQ(views(merge(sample.plan, sample.files)), expected);
}

TEST(MergedCampaigns, DuplicatesThatDifferAreAFinding) {
  SampleCampaign sample = sample_campaign(3);
  ShardFile other = sample.files[1];
  other.answers[1].rows[0].slack = 0.99;
  ShardFile worse = sample.files[1];
  worse.answers[1].rows[0].verdict = ReportVerdict::fail;
  std::vector<ShardFile> files = sample.files;
  files.push_back(other);
  files.push_back(worse);
  const MergedCampaign merged = merge(sample.plan, files);
  EXPECT_EQ(merged.answers.size(), 6U);
  EXPECT_EQ(rows_with(merged, "campaign.same_answer"), 1U);
  EXPECT_EQ(merged.answers[3].rows[0].verdict, ReportVerdict::fail);
  std::ranges::reverse(files);
  EXPECT_EQ(views(merge(sample.plan, files)), views(merged));
}

TEST(MergedCampaigns, ThePageBeginsWithWhatDoesNotHold) {
  SampleCampaign sample = sample_campaign(3);
  for (std::size_t i = 0; i < 3; ++i) {
    for (JudgedAnswer& answer : sample.files[i].answers) {
      for (ReportRow& row : answer.rows) {
        row.verdict = i == 0 ? ReportVerdict::pass : i == 1 ? ReportVerdict::vacuous : ReportVerdict::fail;
      }
      ReportRow environment = answer.rows[0], inputs = answer.rows[0];
      environment.claim = "kernel.keeps_environment";
      inputs.claim = "kernel.keeps_inputs";
      environment.slack = inputs.slack = 0;
      environment.verdict = ReportVerdict::pass;
      inputs.verdict = i == 2 ? ReportVerdict::fail : ReportVerdict::pass;
      answer.rows.insert(answer.rows.end(), {environment, inputs});
    }
  }
  const std::string page = to_html(merge(sample.plan, sample.files));
  std::size_t at = 0;
  for (const char* part :
       {"<h1>campaign sample</h1>", "<strong class=\"fail\">fail</strong> 6 judgements", "id=\"failures\"",
        "<details open>", "fail</strong> f2, seed 1: softmax.element, keeps_inputs", "<details>",
        "fail</strong> f2, seed 2", "vacuous</strong> f1, seed 1", "<h2 id=\"softmax\">", "<th>keeps_inputs</th>",
        "a.so:f2", "a.so:f1", "a.so:f0", "0 for every kernel: keeps_environment."}) {
    const std::size_t next = page.find(part, at);
    ASSERT_NE(next, std::string::npos) << part << " is not behind " << page.substr(0, at);
    at = next;
  }
  EXPECT_EQ(page.find("<th>keeps_environment"), std::string::npos);
  EXPECT_EQ(page.find("<details open>", page.find("<details open>") + 1), std::string::npos);
}

TEST(MergedCampaigns, WhatIsMissingIsNamed) {
  SampleCampaign sample = sample_campaign(4);
  const std::string key = sample.files[2].key;
  sample.files.erase(sample.files.begin() + 2);
  const MergedCampaign merged = merge(sample.plan, sample.files);
  EXPECT_EQ(merged.missing, std::vector<std::string>{key});
  EXPECT_EQ(merged.answers.size(), 6U);
  EXPECT_THAT(to_text(merged), HasSubstr("1 shards are missing"));
}

TEST(MergedCampaigns, FilesOfTwoBuildsAreNotMixed) {
  SampleCampaign sample = sample_campaign(3);
  const Plan& plan = sample.plan;
  std::vector<ShardFile> files = sample.files;
  files[1].commit = "abd";
  EXPECT_THROW(merge(plan, files), MergeError);
  files = sample.files;
  files[2].answers[0].source_sha256 = "d2";
  EXPECT_THROW(merge(plan, files), MergeError);
  // A file of another plan is none of its business.
  files = sample.files;
  files.push_back(files[0]);
  files.back().key = "0000000000000000";
  files.back().commit = "abd";
  for (JudgedAnswer& answer : files.back().answers) answer.asked += " more";
  EXPECT_EQ(views(merge(plan, files)), views(merge(plan, sample.files)));
}

TEST(MergedCampaigns, TheTableHasTheWorstOfAllSeeds) {
  const SampleCampaign sample = sample_campaign(2);
  const std::string text = to_text(merge(sample.plan, sample.files));
  EXPECT_THAT(text, HasSubstr("campaign sample: 4 judgements: 2 fail, 2 pass\n"));
  EXPECT_THAT(text, HasSubstr("a.so:f0 f32  fail              fail inf\n"));
  EXPECT_THAT(text, HasSubstr("library a.so d1\n"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace softcheck::proptests
