// Training a language model repeats bit for bit, goes on where it was stopped, learns; and what is proved and said of
// heads holds for what it makes.
#include "experiments/language/language_training.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>

#include "experiments/language/algorithms/problem.hpp"
#include "experiments/language/language_evaluation.hpp"
#include "experiments/language/language_heads.hpp"
#include "proptests/tests/experiments/judged_head_row.hpp"
#include "theory/lemma_2_1.hpp"

namespace softcheck::experiments {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const LanguageKernels& training_kernels() {
  static const LanguageKernels kernels(std::filesystem::path(SOFTCHECK_KERNEL_DIR) / "libsoftcheck_cpu_kernels.so");
  return kernels;
}

LanguageTrainingOptions short_language_training(std::int64_t steps) {
  LanguageTrainingOptions options;
  options.design.shape = {.layers = 2, .width = 64, .heads = 2, .inner = 128};
  options.steps = steps;
  options.warm_up = 20;
  options.tokens_per_step = 512;
  options.largest = 8;
  return options;
}

bool go_on(const TrainingState&, float) { return true; }

std::vector<std::uint32_t> float_bits(const Floats& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

std::filesystem::path scratch_path(const char* name) {
  return std::filesystem::path(::testing::TempDir()) / (std::string(name) + "." + std::to_string(getpid()));
}

// Labelled full: LanguageTraining.*
TEST(LanguageTraining, ACheckpointGoesOnAsIfNothingHadHappened) {
  LanguageTrainingOptions options = short_language_training(8);
  options.design.adaptive = true;
  options.design.positions = Positions::randomised;
  TrainingState whole = start_training(options);
  train(whole, options, training_kernels(), go_on);

  TrainingState stopped = start_training(options);
  train(stopped, options, training_kernels(), [](const TrainingState& state, float) { return state.step < 3; });
  EXPECT_EQ(stopped.step, 3);
  const std::filesystem::path path = scratch_path("language_checkpoint");
  write_checkpoint(path, stopped, options);
  TrainingState resumed = read_checkpoint(path, options);
  EXPECT_EQ(resumed.step, 3);
  train(resumed, options, training_kernels(), go_on);
  EXPECT_EQ(float_bits(whole.parameters), float_bits(resumed.parameters));
  EXPECT_EQ(float_bits(whole.second_moment), float_bits(resumed.second_moment));
  EXPECT_EQ(whole.words, resumed.words);

  LanguageTrainingOptions other = options;
  other.design.adaptive = false;
  EXPECT_THAT([&] { read_checkpoint(path, other); },
              ThrowsMessage<models::TensorFileError>(HasSubstr("temperature=plain")));
  std::filesystem::remove(path);
}

// The texts of a batch, without the character that is only predicted.
std::vector<std::string> texts_of(const TokenBatch& batch) {
  std::vector<std::string> texts;
  for (std::size_t text = 0; text + 1 < batch.begins.size(); ++text) {
    const auto at = [&](std::size_t i) { return batch.ids.begin() + static_cast<std::ptrdiff_t>(batch.begins[i]); };
    texts.push_back(text_of({at(text), at(text + 1)}));
  }
  return texts;
}

TEST(LanguageTraining, TextsAreOfTheAlgorithmsAndSizes) {
  LanguageTrainingOptions options = short_language_training(30);
  options.algorithms = parse_algorithms("minimum,insertion_sort");
  options.tokens_per_step = 8192;
  TrainingState state = start_training(options);
  std::map<std::string, std::size_t> of_algorithm, of_size;
  for (const std::string& text : texts_of(draw_batch(options, state))) {
    ++of_algorithm[text.substr(0, text.find(':'))];
    ++of_size[std::to_string(text.find(']') - text.find('[') - 1)];
  }
  EXPECT_EQ(of_algorithm.size(), 2U);
  EXPECT_EQ(of_algorithm.count("minimum") + of_algorithm.count("insertion_sort"), 2U);
  EXPECT_EQ(of_size.size(), 5U);
  EXPECT_EQ(of_size.begin()->first, "4");
  EXPECT_EQ(of_size.rbegin()->first, "8");
  options.gate = 0.5;
  options.cool_down = 7;
  EXPECT_THAT(to_text(options), HasSubstr(" algorithms=minimum,insertion_sort gate=0.5 cool-down=7"));
  EXPECT_THROW(parse_algorithms("minimum,least"), std::invalid_argument);
  EXPECT_THROW(parse_algorithms("minimum,bfs,minimum"), std::invalid_argument);
}

TEST(LanguageTraining, TheLossOfResponsesBeginsBehindTheQuestion) {
  LanguageTrainingOptions options = short_language_training(1);
  for (const bool response_only : {false, true}) {
    options.response_only = response_only;
    TrainingState state = start_training(options);
    const TokenBatch batch = draw_batch(options, state);
    const std::string text = texts_of(batch).front();
    const std::string before = response_only ? ":\n" : "initial_trace: ";
    const std::size_t first = text.rfind(before) + before.size();
    EXPECT_EQ(batch.places.front(), static_cast<int>(first) - 1);
    EXPECT_EQ(text_of({batch.labels.front()}), text.substr(first, 1));
  }
}

// AdamW in double on the gradient of the step, of every parameter.
TEST(LanguageTraining, EveryStepIsAdamWs) {
  LanguageTrainingOptions options = short_language_training(4);
  options.warm_up = 2;
  options.clip = 0.1;  // shorter than any of these gradients
  const LanguagePlaces places{options.design.shape};
  const TurnTable<float> turns(options.design.shape);
  TrainingState before = start_training(options), state = before;
  Floats gradient(before.parameters.size());
  train(state, options, training_kernels(), [&](const TrainingState& after, float) {
    const TokenBatch batch = draw_batch(options, before);
    LanguageParts<float> parts(training_kernels(), options.design, batch);
    language_lane().loss_and_gradient(options.design.shape, before.parameters.data(), lane_batch(batch, turns),
                                      parts.calls(), gradient.data());
    double norm = 0;
    for (const float slope : gradient) norm += static_cast<double>(slope) * slope;
    const double share = options.clip / std::sqrt(norm);
    EXPECT_LT(share, 1);
    // Half-way along its cosine behind two steps of warm-up.
    const std::array<double, 4> shares{0.5, 1, 1, 0.5};
    const double rate = options.learning_rate * shares.at(static_cast<std::size_t>(before.step));
    const auto t = static_cast<double>(before.step + 1);
    int wrong = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      bool is_gain = i >= places.last_norm();
      for (int layer = 0; layer < options.design.shape.layers; ++layer) {
        is_gain = is_gain || (i >= places.input_norm(layer) && i < places.projections(layer)) ||
                  (i >= places.middle_norm(layer) && i < places.gate(layer));
      }
      const double w = before.parameters[i], slope = share * gradient[i];
      const double mean = 0.9 * before.first_moment[i] + 0.1 * slope;
      const double square = 0.98 * before.second_moment[i] + 0.02 * slope * slope;
      const double taken = rate * mean / (1 - std::pow(0.9, t)) / (std::sqrt(square / (1 - std::pow(0.98, t))) + 1e-8);
      const double wanted = w - taken - (is_gain ? 0 : rate * options.weight_decay * w);
      // A moment is within 8 roundings of its terms, which may cancel in the mean. Where a slope is subnormal once it
      // is squared, nothing is said.
      const double terms = 0.9 * std::fabs(static_cast<double>(before.first_moment[i])) + 0.1 * std::fabs(slope);
      const double error =
          32 * 0x1p-24 * (std::fabs(w) + rate * terms / std::max(std::fabs(mean), 1e-300) * std::fabs(taken / rate));
      const bool vague = square < 0x1p-100;
      wrong += vague || std::fabs(after.parameters[i] - wanted) <= error ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0) << "step " << before.step;
    before = after;
    return true;
  });
  EXPECT_EQ(before.step, 4);
}

TEST(LanguageTraining, AFileKeepsWhatBf16Keeps) {
  const LanguageTrainingOptions options = short_language_training(1);
  const TrainingState state = start_training(options);
  const std::filesystem::path folder = scratch_path("language_model");
  std::filesystem::create_directories(folder);
  write_language_model(folder, options.design, state.parameters, {{"options", to_text(options)}});
  const LanguageModel model = read_language_model(folder);
  EXPECT_EQ(model.design, options.design);
  ASSERT_EQ(model.parameters.size(), state.parameters.size());
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    // bf16 has 8 bits: half a unit in the last place is at most 2^-8 of the number.
    EXPECT_LE(std::fabs(model.parameters[i] - state.parameters[i]), 0x1p-8F * std::fabs(state.parameters[i]));
    EXPECT_EQ(std::bit_cast<std::uint32_t>(model.parameters[i]) & 0xffff, 0U);
  }
  EXPECT_EQ(nearest_bf16(1 + 0x1p-8F), 1);  // ties go to the even one
  EXPECT_EQ(nearest_bf16(1 + 0x1.8p-7F), 1 + 0x1p-6F);
  EXPECT_EQ(nearest_bf16(1 + 0x1.02p-8F), 1 + 0x1p-7F);

  TensorFile foreign = language_tensors(options.design.shape, state.parameters);
  foreign.tensors.erase("model.norm.weight");
  EXPECT_THROW(language_parameters(options.design.shape, foreign, "x"), models::TensorFileError);
  write_safetensors(folder / "model.safetensors", language_tensors(options.design.shape, state.parameters), "BF16");
  EXPECT_THROW(read_language_model(folder), models::TensorFileError) << "without its options";
  std::filesystem::remove_all(folder);
}

TEST(LanguageTraining, BadOptionsAreNamed) {
  LanguageTrainingOptions options = short_language_training(1);
  TrainingState state = start_training(options);
  options.smallest = 1;
  EXPECT_THROW(train(state, options, training_kernels(), go_on), std::invalid_argument);
  options = short_language_training(1);
  options.cool_down = options.steps + 1;
  EXPECT_THROW(train(state, options, training_kernels(), go_on), std::invalid_argument);
  options = short_language_training(1);
  state.parameters.pop_back();
  EXPECT_THROW(train(state, options, training_kernels(), go_on), std::invalid_argument);
  EXPECT_THROW(design_of("seed=1"), std::invalid_argument);
  EXPECT_THROW(design_of("layers=x width=64 heads=2 inner=128 positions=none temperature=plain"),
               std::invalid_argument);
  EXPECT_EQ(design_of(to_text(options)), options.design);
  for (const HeadWeightsRow& row : head_weights) {
    options.design.weights = row.weights;
    EXPECT_EQ(design_of(to_text(options)), options.design);
  }
  options.design.adaptive = true;
  EXPECT_THROW(design_of(to_text(options)), std::invalid_argument) << "weights without Fig. 4's temperature";
  EXPECT_THROW(train(state, options, training_kernels(), go_on), std::invalid_argument);
}

// Lemma 2.1 is of softmax of the scores: what certifies a Llama's heads refuses those of other weights.
TEST(LanguageTraining, OnlySoftmaxIsCertified) {
  LanguageTrainingOptions options = short_language_training(1);
  const TrainingState state = start_training(options);
  const std::filesystem::path folder = scratch_path("language_weights");
  std::filesystem::create_directories(folder);
  const auto write = [&] {
    write_language_model(folder, options.design, state.parameters, {{"options", to_text(options)}});
  };
  for (const HeadWeightsRow& row : std::span(head_weights).subspan(1)) {
    options.design.weights = row.weights;
    write();
    EXPECT_EQ(read_language_model(folder).design, options.design);
    EXPECT_THAT([&] { certified_spreads(folder, 1); },
                ThrowsMessage<models::UnsupportedTensorFile>(HasSubstr("softcheck_attention")))
        << row.word;
  }
  options.design.weights = HeadWeights::softmax;
  write();
  EXPECT_EQ(certified_spreads(folder, 1).size(), 4U);
  std::filesystem::remove_all(folder);
}

// What is trained once for the tests below: 200 steps.
struct Smoke {
  LanguageModel model;
  std::filesystem::path folder;
  double first = 0, last = 0;  // mean losses of 20 steps
};

const Smoke& smoke() {
  static const Smoke trained = [] {
    const LanguageTrainingOptions options = short_language_training(200);
    Smoke result;
    TrainingState state = start_training(options);
    train(state, options, training_kernels(), [&](const TrainingState& now, float loss) {
      if (now.step <= 20) result.first += loss / 20;
      if (now.step > 180) result.last += loss / 20;
      return true;
    });
    result.folder = scratch_path("language_smoke");
    std::filesystem::create_directories(result.folder);
    write_language_model(result.folder, options.design, state.parameters, {{"options", to_text(options)}});
    result.model = read_language_model(result.folder);
    return result;
  }();
  return trained;
}

TEST(LanguageTraining, ASmokeModelLearns) {
  // At first it guesses among nearly all characters; then it knows which ones a trace has, fewer than twelve at a time.
  EXPECT_GT(smoke().first, std::log(12));
  EXPECT_LT(smoke().last, std::log(12));
}

// Of rows of every head, plain and adaptive: all coefficients within Lemma 2.1's bounds, decided by enclosures. What
// the kernel says of its weights is of these rows.
TEST(LanguageTraining, EveryCoefficientLiesWithinItsBounds) {
  const std::vector<std::string> texts = long_texts(512, 1, 6);
  const std::vector<std::int64_t> items{2, 16, 100, 500};
  for (const bool adaptive : {false, true}) {
    std::size_t rows = 0, warmer = 0;
    observe_rows(smoke().model, adaptive, training_kernels(), texts[0], items, [&](const HeadRow& row) {
      EXPECT_EQ(std::ranges::count(items, static_cast<std::int64_t>(row.scores.size())), 1);
      const theory::LevelRow levels(row.scores);
      const double beta = beta_of(row, adaptive);
      warmer += beta > 1 ? 1 : 0;
      for (const numerics::Certificate& bound : theory::certify_coefficient_bounds(levels, 1 / beta)) {
        EXPECT_EQ(bound.verdict, numerics::Verdict::proved) << bound.claim;
      }
      judge_scalars(row, adaptive);
      ++rows;
    });
    EXPECT_EQ(rows, 4 * items.size());
    EXPECT_EQ(warmer > 0, adaptive);
  }
}

// Decoding by the most probable character, a character at a time, writes the whole response just where every character
// is the most probable one behind the true ones.
TEST(LanguageTraining, AWholeResponseIsWhatDecodingWrites) {
  RandomWords words(9);
  const LanguageModel& model = smoke().model;
  const TurnTable<float> turns(model.design.shape);
  int whole = 0, cut = 0;
  for (int i = 0; i < 6; ++i) {
    Problem problem = draw_problem(algorithms()[static_cast<std::size_t>(i) % algorithms().size()], 4, words);
    const auto decoded = [&](std::size_t length) {
      std::string text = problem.question;
      while (text.size() < problem.question.size() + length) {
        TokenBatch batch;
        add_text(batch, text + "\n", text.size());
        text += text_of(most_probable(model, false, training_kernels(), turns, batch));
      }
      return text.substr(problem.question.size());
    };
    // What it writes itself is whole; the truth is, as far as it agrees.
    for (const std::string& response : {decoded(12), problem.response.substr(0, 12)}) {
      TokenBatch batch;
      add_text(batch, problem.question + response, problem.question.size());
      const bool all = most_probable(model, false, training_kernels(), turns, batch) == ids_of(response);
      EXPECT_EQ(all, decoded(12) == response);
      (all ? whole : cut) += 1;
    }
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(cut, 0);
}

TEST(LanguageTraining, EveryBitOfSeedAndStreamDrawsOtherProblems) {
  LanguageEvaluationOptions options;
  options.sizes = {8};
  options.problems = 2;
  const auto right = [&](std::uint64_t seed, std::uint64_t stream) {
    options.seed = seed;
    std::vector<int> numbers;
    for (const LanguageCell& cell : evaluate_language(smoke().model, false, stream, training_kernels(), options)) {
      for (const ProblemScore& score : cell.problems) numbers.push_back(score.right);
    }
    return numbers;
  };
  const std::vector<int> first = right(1, 1);
  EXPECT_EQ(right(1, 1), first);
  for (const int bit : {1, 31, 32, 63}) {
    EXPECT_NE(right(1, 1 + (std::uint64_t{1} << bit)), first) << "bit " << bit << " of the stream";
    EXPECT_NE(right(1 + (std::uint64_t{1} << bit), 1), first) << "bit " << bit << " of the seed";
  }
}

TEST(LanguageTraining, ScoresCountWhatIsRight) {
  LanguageEvaluationOptions options;
  options.sizes = {4, 6};
  options.problems = 2;
  const std::vector<LanguageCell> cells = evaluate_language(smoke().model, false, 1, training_kernels(), options);
  ASSERT_EQ(cells.size(), 2 * algorithms().size());
  int right = 0, all = 0, wrong_answers = 0;
  for (const LanguageCell& cell : cells) {
    ASSERT_EQ(cell.problems.size(), 2U);
    for (const ProblemScore& score : cell.problems) {
      EXPECT_TRUE(!score.whole || (score.answer && score.right == score.characters));
      EXPECT_TRUE(score.whole || score.right < score.characters);
      right += score.right;
      all += score.characters;
      wrong_answers += score.answer ? 0 : 1;
    }
  }
  EXPECT_GT(wrong_answers, 0);
  EXPECT_GT(right, all / 4);
  options.threads = 2;
  const std::vector<LanguageCell> again = evaluate_language(smoke().model, false, 1, training_kernels(), options);
  int same = 0;
  for (const LanguageCell& cell : again) {
    for (const ProblemScore& score : cell.problems) same += score.right;
  }
  EXPECT_EQ(same, right);
  LanguageModel one = smoke().model;
  one.algorithms = {"bfs"};
  const std::vector<LanguageCell> of_one = evaluate_language(one, false, 1, training_kernels(), options);
  ASSERT_EQ(of_one.size(), cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    ASSERT_EQ(of_one[i].problems.size(), cells[i].algorithm == "bfs" ? 2U : 0U) << cells[i].algorithm;
    if (of_one[i].problems.empty()) continue;
    EXPECT_EQ(of_one[i].problems[0].right, cells[i].problems[0].right);
  }
  options.most_tokens = 10;
  for (const LanguageCell& cell : evaluate_language(smoke().model, false, 1, training_kernels(), options)) {
    EXPECT_TRUE(cell.problems.empty());
  }
  options.sizes = {1};
  EXPECT_THROW(evaluate_language(smoke().model, false, 1, training_kernels(), options), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::experiments
