// Training reads the question: it learns a lookup, and problems by heart.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "experiments/language/algorithms/problem.hpp"
#include "experiments/language/characters.hpp"
#include "experiments/language/language_evaluation.hpp"
#include "experiments/language/language_training.hpp"

namespace softcheck::experiments {
namespace {

const LanguageKernels& learning_kernels() {
  static const LanguageKernels kernels(std::filesystem::path(SOFTCHECK_KERNEL_DIR) / "libsoftcheck_cpu_kernels.so");
  return kernels;
}

struct AskedText {
  std::string question, response;
};

// Trains on the responses of drawn texts, and counts the texts in `asked` whose response the model then writes.
int learned(std::int64_t steps, const std::function<AskedText(RandomWords&)>& draw, int texts,
            const std::vector<AskedText>& asked) {
  LanguageTrainingOptions options;
  options.design.shape = {.layers = 2, .width = 64, .heads = 4, .inner = 160};
  options.steps = steps;
  options.warm_up = steps / 10;
  TrainingState state = start_training(options);
  const auto add = [](TokenBatch& batch, const AskedText& text) {
    add_text(batch, text.question + text.response, text.question.size());
  };
  train(
      state, options, learning_kernels(), [](const TrainingState&, float) { return true; },
      [&](const LanguageTrainingOptions&, TrainingState& now) {
        TokenBatch batch;
        for (int text = 0; text < texts; ++text) add(batch, draw(now.words));
        return batch;
      });
  const LanguageModel model{.name = "", .options = "", .design = options.design, .parameters = state.parameters};
  const TurnTable<float> turns(options.design.shape);
  int right = 0;
  for (const AskedText& text : asked) {
    TokenBatch batch;
    add(batch, text);
    right += most_probable(model, false, learning_kernels(), turns, batch) == ids_of(text.response) ? 1 : 0;
  }
  return right;
}

std::vector<AskedText> some(int count, RandomWords& words, const std::function<AskedText(RandomWords&)>& draw) {
  std::vector<AskedText> texts;
  for (int i = 0; i < count; ++i) texts.push_back(draw(words));
  return texts;
}

// "bcab:0", the first place of the fourth letter in the three before it: no letter alone tells anything.
AskedText draw_lookup(RandomWords& words) {
  std::string text;
  for (int i = 0; i < 3; ++i) text += static_cast<char>('a' + uniform_below(words, 4));
  const char wanted = text[uniform_below(words, 3)];
  const std::string place = std::to_string(text.find(wanted));
  return {text + wanted + ":", place + "\n"};
}

// Labelled full: LanguageLearning.*
TEST(LanguageLearning, ALookupIsLearned) {
  RandomWords words(5);
  EXPECT_EQ(learned(300, draw_lookup, 64, some(100, words, draw_lookup)), 100);
}

// Texts of 80 characters that differ in four, with three responses.
TEST(LanguageLearning, EightProblemsAreLearnedByHeart) {
  RandomWords words(6);
  const std::vector<AskedText> problems = some(8, words, [](RandomWords& from) {
    const Problem problem = draw_problem(algorithm_named("naive_string_matcher"), 4, from);
    return AskedText{problem.question, problem.response};
  });
  std::size_t next = 0;
  EXPECT_EQ(learned(
                300, [&](RandomWords&) { return problems[next++ % problems.size()]; }, 8, problems),
            8);
}

}  // namespace
}  // namespace softcheck::experiments
