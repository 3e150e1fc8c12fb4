#include "judge/campaigns/merge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "judge/campaigns/campaign_report.hpp"
#include "judge/campaigns/shard_file.hpp"
#include "judge/campaigns/shard_run.hpp"
#include "models/read/file_source.hpp"
#include "models/read/safetensors_header.hpp"
#include "models/report/checkpoint_report.hpp"
#include "models/report/checkpoint_run.hpp"
#include "proptests/report/report.hpp"
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

// Layers that were certified one by one, in any processes, say byte for byte what one certification of the model says.

namespace fs = std::filesystem;

const fs::path tiny = fs::path(SOFTCHECK_SOURCE_DIR) / "proptests/tests/models/checkpoints";
const fs::path shipped = fs::path(SOFTCHECK_SOURCE_DIR) / "experiments/models/language";

std::string plan_text(const std::string& model, std::int64_t layers, const std::string& words) {
  return "[[models]]\nmodel = \"" + model + "\"\nlayers = \"0-" + std::to_string(layers - 1) + "\"\n" + words;
}

/// Every shard of a plan, the last one first, through its file.
std::vector<ShardFile> judged(const Plan& plan, const fs::path& models) {
  const ShardRun run{plan.hash, "0.3.0", "abc", models, {}};
  const StateFolder folder;
  std::vector<ShardFile> files;
  for (const Shard& shard : plan.shards) files.push_back(parse_shard_file(to_text(judge_shard(shard, run))));
  std::ranges::reverse(files);
  return files;
}

MergedCampaign merged(const std::string& text, const fs::path& models) {
  const Plan plan = parse_plan(text, "plan.toml");
  return merge(plan, judged(plan, models));
}

models::CheckpointReport unsharded(const fs::path& models, models::CheckpointQuestion question) {
  const StateFolder folder;
  fs::current_path(models);
  question.threads = 1;
  return models::certify_checkpoint(question);
}

std::vector<std::string> lines_of(std::vector<ReportRow> rows) {
  std::vector<std::string> lines;
  for (const ReportRow& row : rows) {
    std::string line = row.claim + " " + row.subject + " " + std::to_string(row.cases) + " " + slack_text(row.slack) +
                       " " + to_string(row.verdict);
    for (const std::string& detail : row.details) line += "\n" + detail;
    lines.push_back(line);
  }
  return lines;
}

void expect_the_same(const fs::path& models, const models::CheckpointQuestion& question, const std::string& words) {
  const models::CheckpointReport whole = unsharded(models, question);
  const MergedCampaign campaign = merged(plan_text(question.path, whole.model.layers, words), models);
  ASSERT_EQ(campaign.models.size(), 1U);
  const MergedModel& model = campaign.models.front();
  ASSERT_TRUE(model.report.has_value());
  EXPECT_EQ(models::to_table(*model.report, 0), models::to_table(whole, 0));
  EXPECT_EQ(models::to_json(*model.report, ""), models::to_json(whole, ""));
  EXPECT_EQ(models::to_html(*model.report, scripted_page_head), models::to_html(whole, scripted_page_head));
  EXPECT_EQ(lines_of(model.rows), lines_of(rows_of(whole.certificates, question.path, 0)));
  EXPECT_EQ(adjacent_files(campaign).at("model-1.html"), models::to_html(whole, scripted_page_head));
  EXPECT_THAT(to_text(campaign), ::testing::HasSubstr(models::to_table(whole, 10)));
}

TEST(ModelShards, SayWhatOneCertificationSays) {
  std::size_t layers = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(tiny)) {
    if (!entry.is_directory()) continue;
    SCOPED_TRACE(entry.path().filename().string());
    models::CheckpointQuestion question;
    question.path = entry.path().filename().string();
    if (question.path.starts_with("gguf")) {
      for (const fs::directory_entry& file : fs::directory_iterator(entry)) {
        if (file.path().extension() == ".gguf") question.path += "/" + file.path().filename().string();
      }
    }
    expect_the_same(tiny, question, "");
    layers += static_cast<std::size_t>(unsharded(tiny, question).model.layers);
  }
  EXPECT_GE(layers, 30U);  // most of the models have two or more
}

TEST(ModelShards, OfTheShippedLanguageModelsToo) {
  for (const char* name : {"plain-1", "adaptive-3"}) {
    SCOPED_TRACE(name);
    models::CheckpointQuestion question;
    question.path = name;
    expect_the_same(shipped, question, "");
  }
}

TEST(ModelShards, EveryOptionIsThatOfTheCommand) {
  models::CheckpointQuestion question;
  question.path = "bert";
  question.options.eps = 0.25;
  question.options.items = 17;
  question.vocabulary = true;
  question.fail_if = {"logit.f16 > 0.001", "reached < 0.5"};
  const std::string words =
      "eps = 0.25\nn = 17\nvocabulary = true\nfail-if = [\"logit.f16 > 0.001\", \"reached < 0.5\"]\nshard = 2\n";
  expect_the_same(tiny, question, words);
  EXPECT_EQ(merged(plan_text("bert", 2, words), tiny).report().verdict(), ReportVerdict::fail);  // a gate closes
  models::CheckpointQuestion rotary;
  rotary.path = "llama";
  rotary.options.context = true;
  expect_the_same(tiny, rotary, "context = true\n");
}

fs::path copy_of_llama(const ScratchFolder& scratch) {
  fs::copy(tiny / "llama", scratch.path() / "llama", fs::copy_options::recursive);
  return scratch.path() / "llama";
}

/// Writes bytes over the begin of a tensor of a copied model.
void overwrite(const fs::path& model, const std::string& tensor, const std::string& bytes) {
  const fs::path path = model / "model.safetensors";
  const models::SafetensorsHeader header =
      models::read_safetensors_header(models::open_file_source(path), path.string());
  const auto found = std::ranges::find(header.tensors, tensor, &models::SafetensorsEntry::name);
  ASSERT_NE(found, header.tensors.end());
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(header.data_begin + found->begin));
  file << bytes;
}

constexpr const char* query_of_layer_1 = "model.layers.1.self_attn.q_proj.weight";

// A checkpoint of hundreds of gigabytes: what belongs to other layers is never read.
TEST(ModelShards, AWorkerReadsTheTensorsOfItsLayerAlone) {
  const ScratchFolder scratch;
  const fs::path copy = copy_of_llama(scratch);
  const Plan plan = parse_plan(plan_text("llama", 2, ""), "plan.toml");
  const ShardRun run{plan.hash, "0.3.0", "abc", scratch.path(), {}};
  const StateFolder folder;
  const JudgedAnswer sound = judge_shard(plan.shards[0], run).answers.front();
  overwrite(copy, query_of_layer_1, std::string(8, '\xff'));  // NaN in every format
  const JudgedAnswer auxiliary = judge_shard(plan.shards[0], run).answers.front();
  EXPECT_EQ(auxiliary.layer, sound.layer);
  EXPECT_EQ(auxiliary.source_sha256, sound.source_sha256);
  EXPECT_NE(auxiliary.checkpoint_sha256, sound.checkpoint_sha256);
  EXPECT_THROW(judge_shard(plan.shards[1], run), models::TensorFileError);
}

TEST(ModelShards, ADigestSeesEveryByteOfItsLayer) {
  const ScratchFolder scratch;
  const fs::path copy = copy_of_llama(scratch);
  const auto digest = [&](int layer) {
    const auto file = models::open_checkpoint(copy);
    return checkpoint_digests(*file, models::describe(*file), layer, false);
  };
  const CheckpointDigests first = digest(0), second = digest(1);
  EXPECT_EQ(first.checkpoint, second.checkpoint);
  EXPECT_NE(first.layer, second.layer);
  overwrite(copy, query_of_layer_1, "\x01");
  EXPECT_EQ(digest(0).layer, first.layer);
  EXPECT_NE(digest(1).layer, second.layer);
  std::ofstream(copy / "config.json", std::ios::app) << "\n";
  EXPECT_NE(digest(0).layer, first.layer);  // what describes the model decides its certificates, too
}

TEST(ModelShards, LayersOfTwoCheckpointsAreNotMixed) {
  const ScratchFolder scratch;
  const fs::path copy = copy_of_llama(scratch);
  const Plan plan = parse_plan(plan_text("llama", 2, ""), "plan.toml");
  std::vector<ShardFile> files = judged(plan, tiny);
  overwrite(copy, query_of_layer_1, "\x01");
  const std::vector<ShardFile> others = judged(plan, scratch.path());
  files.back() = others.back();
  EXPECT_THROW(merge(plan, files), MergeError);
}

TEST(ModelShards, AnUnknownArchitectureIsAnAnswerAndAMissingLayerIsNone) {
  const ScratchFolder scratch;
  const fs::path copy = copy_of_llama(scratch);
  EXPECT_THROW(merged(plan_text("llama", 9, ""), scratch.path()), std::invalid_argument);
  std::ofstream(copy / "config.json") << R"({"model_type": "mamba"})";
  const MergedCampaign campaign = merged(plan_text("llama", 2, ""), scratch.path());
  EXPECT_EQ(campaign.report().verdict(), ReportVerdict::refused);
  EXPECT_FALSE(campaign.models.front().report.has_value());
  EXPECT_THAT(to_text(campaign) + to_html(campaign) + to_json(campaign), ::testing::HasSubstr("mamba"));
}

}  // namespace
}  // namespace softcheck::proptests
