// The models that ship: what they say of themselves is true, and what the paper says of such models holds for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "experiments/evaluation.hpp"
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

}  // namespace
}  // namespace softcheck::experiments
