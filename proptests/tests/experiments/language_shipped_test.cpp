// The language models that ship: they are what their command makes, and what is proved of heads holds for theirs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "experiments/language/language_heads.hpp"
#include "experiments/language/language_training.hpp"
#include "theory/lemma_2_1.hpp"

namespace softcheck::experiments {
namespace {

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
