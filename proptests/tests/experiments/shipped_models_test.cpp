// The models that ship: what they say of themselves is true, and what the paper says of such models holds for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "experiments/evaluation.hpp"
#include "experiments/language/language_heads.hpp"
#include "experiments/language/language_training.hpp"
#include "experiments/sha256.hpp"
#include "experiments/tables/accuracy_table.hpp"
#include "experiments/trained_models.hpp"
#include "experiments/training.hpp"
#include "theory/lemma_2_1.hpp"

namespace softcheck::experiments {
namespace {

const std::filesystem::path folder = std::filesystem::path(SOFTCHECK_SOURCE_DIR) / "experiments/models";

const std::vector<TrainedModel>& seeds() {
  static const std::vector<TrainedModel> models = read_models(folder / "seeds");
  return models;
}

AttentionKernels shipped_kernels() {
  return AttentionKernels(std::filesystem::path(SOFTCHECK_KERNEL_DIR) / "libsoftcheck_cpu_kernels.so");
}

TEST(ShippedModels, AreTheTenSeedsOfTheDefaultOptions) {
  ASSERT_EQ(seeds().size(), 10U);
  for (std::size_t i = 0; i < seeds().size(); ++i) {
    TrainingOptions options;
    options.seed = i + 1;
    EXPECT_EQ(seeds()[i].options, to_text(options)) << seeds()[i].name;
  }
}

TEST(ShippedModels, AreTheFilesOfTheirList) {
  std::ifstream list(folder / "SHA256SUMS");
  std::map<std::string, std::string> listed;
  for (std::string sum, name; list >> sum >> name;) listed[name] = sum;
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    const std::string name = std::filesystem::relative(entry.path(), folder).string();
    EXPECT_EQ(listed[name], sha256_of_file(entry.path())) << name;
    ++found;
  }
  EXPECT_EQ(found, listed.size());
}

// Labelled full: ShippedModels.WhatThePaperSaysOfItsTableHolds
TEST(ShippedModels, WhatThePaperSaysOfItsTableHolds) {
  EvaluationOptions options;
  // All sizes, and sets enough for the larger ones, in a deep run.
  const char* effort = std::getenv("SOFTCHECK_EFFORT");
  const bool deep = effort != nullptr && std::string(effort) == "deep";
  options.sizes =
      deep ? std::vector<int>{16, 32, 64, 128, 256, 512, 1024, 2048, 4096} : std::vector<int>{16, 64, 256, 1024};
  options.items = deep ? 1 << 19 : 1 << 17;
  options.threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::vector<SizeMeasure>> measures;
  for (std::size_t m = 0; m < seeds().size(); ++m) {
    measures.push_back(evaluate(seeds()[m].parameters, m + 1, shipped_kernels(), options));
  }
  const std::vector<AccuracyRow> table = accuracy_table(measures);
  for (const TableClaim& claim : claims_of(table)) EXPECT_TRUE(claim.holds) << claim.name << ":" << claim.detail;
}

// Every coefficient of the logits that the networks make lies within Lemma 2.1's bounds, decided by enclosures.
// Labelled full: ShippedModels.EveryCoefficientLiesWithinItsBounds
TEST(ShippedModels, EveryCoefficientLiesWithinItsBounds) {
  std::size_t rows = 0;
  for (const TrainedModel& model : seeds()) {
    const Head watching{"watching", [&](std::span<const float> x, float, std::span<float> alpha) {
                          const theory::LevelRow row(std::vector<double>(x.begin(), x.end()));
                          for (const numerics::Certificate& bound : theory::certify_coefficient_bounds(row, 1)) {
                            EXPECT_EQ(bound.verdict, numerics::Verdict::proved) << bound.claim << " " << model.name;
                          }
                          std::ranges::fill(alpha, 0.0F);
                          ++rows;
                        }};
    EvaluationOptions options;
    options.sizes = {16, 256, 4096};
    options.sets = 2;
    options.others = {watching};
    evaluate(model.parameters, 99, shipped_kernels(), options);
  }
  EXPECT_EQ(rows, 60U);
}

// Labelled full: ShippedModels.ASmokeModelLearnsAndDisperses
// Training from nothing, as the paper does it but shorter: it learns, and disperses.
TEST(ShippedModels, ASmokeModelLearnsAndDisperses) {
  TrainingOptions training;
  training.steps = 2000;
  TrainingState state = start_training(training);
  train(state, training, [](const TrainingState&, float) { return true; });
  EvaluationOptions options;
  options.sizes = {16, 256, 4096};
  options.sets = 128;
  const std::vector<SizeMeasure> measures = evaluate(state.parameters, 1, shipped_kernels(), options);
  std::vector<double> accuracy, entropy;
  for (const SizeMeasure& size : measures) {
    double right = 0, nats = 0;
    for (const HeadMeasure& set : size.heads[0]) {
      right += set.correct ? 1 : 0;
      nats += set.entropy;
    }
    accuracy.push_back(right / 128);
    entropy.push_back(nats / 128);
  }
  // Chance is 1 in 10, here 12.8 of 128: half of all right is 13 standard deviations above it.
  EXPECT_GT(accuracy[0], 0.5);
  EXPECT_LT(accuracy[2], accuracy[0]);
  EXPECT_LT(entropy[0], entropy[1]);
  EXPECT_LT(entropy[1], entropy[2]);
}

// The language models that ship: they are what their command makes, and what is proved of heads holds for theirs.

const std::filesystem::path shipped_folder =
    std::filesystem::path(SOFTCHECK_SOURCE_DIR) / "experiments/models/language";

std::vector<std::filesystem::path> shipped_models() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(shipped_folder)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

LanguageKernels shipped_language_kernels() {
  return LanguageKernels(std::filesystem::path(SOFTCHECK_KERNEL_DIR) / "libsoftcheck_cpu_kernels.so");
}

// softcheck run train-language --tokens 1024 --steps 6000 --temperature T --seed N, in T-N.
TEST(ShippedLanguageModels, AreThoseOfTheirCommand) {
  int plain = 0, adaptive = 0;
  for (const std::filesystem::path& path : shipped_models()) {
    ASSERT_TRUE(is_language_model(path)) << path;
    const LanguageModel model = read_language_model(path);
    LanguageTrainingOptions options;
    options.steps = 6000;
    options.tokens_per_step = 1024;
    options.design.adaptive = model.design.adaptive;
    int& seeds = model.design.adaptive ? adaptive : plain;
    options.seed = static_cast<std::uint64_t>(++seeds);
    EXPECT_EQ(model.options, to_text(options));
    EXPECT_EQ(model.name, std::string(model.design.adaptive ? "adaptive-" : "plain-") + std::to_string(seeds));
  }
  EXPECT_GE(plain, 1);
  EXPECT_EQ(plain, adaptive);
}

// At fixed weights, and without a temperature that answers to it, the mean entropy of the heads grows with every
// fourfold of the characters that they see. Each entropy is between its certified floor and ln n, each spread within
// its certificate, each coefficient within Lemma 2.1 of its own row.
// Labelled full: ShippedLanguageModels.HeadsDisperseWithinTheirCertificates
TEST(ShippedLanguageModels, HeadsDisperseWithinTheirCertificates) {
  const LanguageKernels kernels = shipped_language_kernels();
  const std::vector<std::string> texts = long_texts(1024, 1, 5);
  for (const std::filesystem::path& path : shipped_models()) {
    const LanguageModel model = read_language_model(path);
    const std::string& name = model.name;
    const std::vector<LanguageHeadPoint> points =
        observe_heads(model, kernels, texts, 1024, certified_spreads(path, 1));
    std::map<std::int64_t, double> entropies;
    for (const LanguageHeadPoint& point : points) {
      entropies[point.entropy.items] += point.entropy.mean();
      // No room for the kernel's rounding: no head is uniform.
      EXPECT_LE(point.entropy.largest, std::log(static_cast<double>(point.entropy.items)));
      EXPECT_GE(point.entropy.least, point.entropy.certified_floor);
      EXPECT_LE(point.largest_spread, point.certified_spread) << name;
      EXPECT_LE(point.mean_spread, point.largest_spread) << name;
      EXPECT_GT(point.largest_spread, 0) << name;
    }
    EXPECT_EQ(entropies.size(), 7U);
    for (const auto& [items, sum] : entropies) {
      if (model.design.adaptive) continue;
      EXPECT_GT(sum, items >= 64 ? entropies.at(items / 4) : 0) << name << " at " << items;
    }
    const std::vector<std::int64_t> items{3, 16, 64, 256, 600, 1000};
    observe_rows(model, model.design.adaptive, kernels, texts[0], items, [&](const HeadRow& row) {
      const double beta = beta_of(row, model.design.adaptive);
      for (const numerics::Certificate& bound :
           theory::certify_coefficient_bounds(theory::LevelRow(row.scores), 1 / beta)) {
        EXPECT_EQ(bound.verdict, numerics::Verdict::proved) << bound.claim << " " << name;
      }
    });
  }
}

}  // namespace
}  // namespace softcheck::experiments
