// A curriculum draws open cells by their losses, opens the next size once the largest one is learnt, and resumes.
#include "experiments/language/language_curriculum.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>

namespace softcheck::experiments {
namespace {

LanguageTrainingOptions gated_options() {
  LanguageTrainingOptions options;
  options.algorithms = {"minimum", "insertion_sort"};
  options.largest = 8;
  options.gate = 0.5;
  return options;
}

// A batch of texts of the cells, of which each predicts the given number of characters.
TokenBatch batch_of(const std::vector<std::size_t>& cells, const std::vector<int>& targets) {
  TokenBatch batch;
  batch.cells = cells;
  for (const int count : targets) {
    const int first = static_cast<int>(batch.begins.back());
    batch.begins.push_back(first + count + 3);  // the first three are not predicted from
    for (int i = 0; i < count; ++i) batch.places.push_back(first + 3 + i);
  }
  return batch;
}

TEST(LanguageCurriculum, ASizeOpensWhenTheOneBeforeItIsLearnt) {
  const LanguageTrainingOptions options = gated_options();
  const Curriculum curriculum(options);
  Floats nats = curriculum.begin();
  EXPECT_EQ(curriculum.open_sizes(nats), "4 4");
  // From four gates down to one by a sixteenth of itself a text: 4 (15/16)^k < 1 for k = 22 and not for 21.
  const TokenBatch one = batch_of({0}, {1});
  for (int text = 1; text <= 21; ++text) curriculum.learn(one, {0}, nats);
  EXPECT_EQ(curriculum.open_sizes(nats), "4 4");
  curriculum.learn(one, {0}, nats);
  EXPECT_EQ(curriculum.open_sizes(nats), "5 4");
  // A small one that is forgotten neither closes a size nor keeps the largest from opening the next.
  for (int text = 0; text < 50; ++text) curriculum.learn(one, {10}, nats);
  EXPECT_EQ(curriculum.open_sizes(nats), "5 4");
  EXPECT_GT(nats[0], options.gate);
  for (int text = 0; text < 22; ++text) curriculum.learn(batch_of({1}, {1}), {0}, nats);
  EXPECT_EQ(curriculum.open_sizes(nats), "6 4");
  // The last size of an algorithm opens nothing of the next one.
  for (const std::size_t cell : {2U, 3U, 4U}) {
    for (int text = 0; text < 22; ++text) curriculum.learn(batch_of({cell}, {1}), {0}, nats);
  }
  EXPECT_EQ(curriculum.open_sizes(nats), "8 4");
  EXPECT_EQ(nats[5], 4 * static_cast<float>(options.gate));
}

TEST(LanguageCurriculum, ATextsLossIsTheMeanOfItsCharacters) {
  const LanguageTrainingOptions options = gated_options();
  const Curriculum curriculum(options);
  Floats nats = curriculum.begin();
  curriculum.learn(batch_of({5, 0, 5}, {2, 4, 1}), {1, 2, 4, 8, 16, 0, 32}, nats);
  // By sixteenths, from 2: one text of 7 nats a character, and two of 1.5 and then 32.
  EXPECT_FLOAT_EQ(nats[0], 2 + (7.0F - 2) / 16);
  const float after = 2 + (1.5F - 2) / 16;
  EXPECT_FLOAT_EQ(nats[5], after + (32 - after) / 16);
}

TEST(LanguageCurriculum, OpenSizesAreDrawnByTheirLosses) {
  const LanguageTrainingOptions options = gated_options();
  const Curriculum curriculum(options);
  // Weights 1/8 (at least), 1/2, 1 (at most) of one algorithm, 1/4 and 1/2 of the other.
  Floats nats = curriculum.begin();
  nats[0] = 0.001F;
  nats[1] = 0.25F;
  nats[2] = 3;
  nats[5] = 0.125F;
  nats[6] = 0.25F;
  const std::map<std::size_t, double> shares{{0, 1. / 26}, {1, 4. / 26}, {2, 8. / 26}, {5, 1. / 6}, {6, 2. / 6}};
  RandomWords words(5);
  std::map<std::size_t, int> drawn;
  constexpr int draws = 100'000;
  for (int i = 0; i < draws; ++i) ++drawn[curriculum.draw(nats, words)];
  EXPECT_EQ(drawn.size(), shares.size());
  for (const auto& [cell, share] : shares) {
    // Six standard deviations of a binomial count.
    EXPECT_LE(std::fabs(drawn[cell] - draws * share), 6 * std::sqrt(draws * share * (1 - share))) << cell;
  }
}

TEST(LanguageCurriculum, TextsAreOfTheirCells) {
  LanguageTrainingOptions options = gated_options();
  options.tokens_per_step = 4096;
  TrainingState state = start_training(options);
  const Curriculum curriculum(options);
  state.nats[1] = 1;
  const TokenBatch batch = draw_batch(options, state);
  ASSERT_EQ(batch.cells.size(), static_cast<std::size_t>(batch.texts()));
  std::map<std::size_t, int> drawn;
  for (std::size_t i = 0; i < batch.cells.size(); ++i) {
    const auto at = [&](std::size_t text) {
      return batch.ids.begin() + static_cast<std::ptrdiff_t>(batch.begins[text]);
    };
    const std::string text = text_of({at(i), at(i + 1)});
    EXPECT_EQ(text.substr(0, text.find(':')), curriculum.algorithm_of(batch.cells[i]).name);
    EXPECT_EQ(static_cast<int>(text.find(']') - text.find('[')) - 1, curriculum.size_of(batch.cells[i]));
    ++drawn[batch.cells[i]];
  }
  EXPECT_EQ(drawn.size(), 3U);
}

// Labelled full: LanguageCurriculum.TrainingLearnsItAndACheckpointKeepsIt
TEST(LanguageCurriculum, TrainingLearnsItAndACheckpointKeepsIt) {
  const LanguageKernels kernels(std::filesystem::path(SOFTCHECK_KERNEL_DIR) / "libsoftcheck_cpu_kernels.so");
  LanguageTrainingOptions options = gated_options();
  options.design.shape = {.layers = 1, .width = 16, .heads = 1, .inner = 16};
  options.tokens_per_step = 256;
  options.steps = 40;
  options.gate = 10;  // more than the loss of a uniform guess, ln 96: sizes open during these steps
  TrainingState whole = start_training(options), stopped = whole;
  train(whole, options, kernels, [](const TrainingState&, float) { return true; });
  EXPECT_NE(Curriculum(options).open_sizes(whole.nats), "4 4");
  train(stopped, options, kernels, [](const TrainingState& state, float) { return state.step < 25; });
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / ("curriculum." + std::to_string(getpid()));
  write_checkpoint(path, stopped, options);
  TrainingState resumed = read_checkpoint(path, options);
  train(resumed, options, kernels, [](const TrainingState&, float) { return true; });
  EXPECT_EQ(whole.nats, resumed.nats);
  EXPECT_EQ(whole.parameters, resumed.parameters);
  stopped.nats.pop_back();
  write_checkpoint(path, stopped, options);
  EXPECT_THAT([&] { read_checkpoint(path, options); },
              ::testing::ThrowsMessage<models::TensorFileError>(::testing::HasSubstr("curriculum.nats")));
  std::filesystem::remove(path);
}

TEST(LanguageCurriculum, TheRateCoolsDownAlongALine) {
  LanguageTrainingOptions options;
  options.steps = 100;
  options.warm_up = 10;
  options.cool_down = 40;
  options.learning_rate = 1;
  const std::map<std::int64_t, double> rates{{0, 0.1}, {9, 1}, {10, 1}, {59, 1}, {60, 1}, {70, 0.75}, {99, 0.025}};
  for (const auto& [step, rate] : rates) EXPECT_DOUBLE_EQ(learning_rate_at(options, step), rate) << step;
}

}  // namespace
}  // namespace softcheck::experiments
