// Layers that were certified one by one, in any processes, say byte for byte what one certification of the model says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "judge/campaigns/campaign_report.hpp"
#include "judge/campaigns/checkpoint_digest.hpp"
#include "judge/campaigns/merge.hpp"
#include "judge/campaigns/shard_run.hpp"
#include "models/read/file_source.hpp"
#include "models/read/safetensors_header.hpp"
#include "models/report/checkpoint_report.hpp"
#include "models/report/checkpoint_run.hpp"
#include "proptests/report/report.hpp"
#include "proptests/tests/campaigns/campaign_samples.hpp"

namespace softcheck::proptests {
namespace {

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
