#include "experiments/language/language_evaluation.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <stdexcept>

#include "models/forward/network.hpp"

namespace softcheck::experiments {
namespace {

constexpr int tokens_at_once = 4096;

RandomWords words_of_cell(const LanguageEvaluationOptions& options, std::uint64_t stream, std::size_t algorithm,
                          int size) {
  std::seed_seq sequence{static_cast<std::uint32_t>(options.seed), static_cast<std::uint32_t>(options.seed >> 32),
                         static_cast<std::uint32_t>(stream),       static_cast<std::uint32_t>(stream >> 32),
                         static_cast<std::uint32_t>(algorithm),    static_cast<std::uint32_t>(size)};
  return RandomWords(sequence);
}

// The score of the predictions for a problem's response, character by character.
ProblemScore score_of(const Problem& problem, const int* predicted) {
  const std::vector<int> truth = ids_of(problem.response);
  ProblemScore score{.whole = true, .answer = true, .characters = static_cast<int>(truth.size())};
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const bool right = predicted[i] == truth[i];
    score.right += right ? 1 : 0;
    score.whole = score.whole && right;
    score.answer = score.answer && (right || i < problem.answer_begin);
  }
  return score;
}

std::vector<ProblemScore> scores_of(const LanguageModel& model, bool adaptive, const LanguageKernels& kernels,
                                    const TurnTable<float>& turns, const std::vector<Problem>& problems) {
  std::vector<ProblemScore> scores;
  for (std::size_t first = 0; first < problems.size();) {
    TokenBatch batch;
    std::size_t end = first;
    while (end < problems.size() && (end == first || batch.tokens() < tokens_at_once)) {
      add_text(batch, problems[end].question + problems[end].response, problems[end].question.size());
      ++end;
    }
    const std::vector<int> predicted = most_probable(model, adaptive, kernels, turns, batch);
    const int* next = predicted.data();
    for (; first < end; ++first) {
      scores.push_back(score_of(problems[first], next));
      next += problems[first].response.size();
    }
  }
  return scores;
}

void check(const LanguageEvaluationOptions& options) {
  const bool sizes = std::ranges::all_of(options.sizes, [](int size) { return size >= 2 && size <= 61; });
  if (!sizes || options.problems < 1 || options.most_tokens < 2 || options.most_tokens > most_positions ||
      options.threads < 1) {
    throw std::invalid_argument("evaluate_language: need sizes from 2 to 61, problems and threads >= 1 and 2 to " +
                                std::to_string(most_positions) + " tokens");
  }
}

}  // namespace

std::vector<int> most_probable(const LanguageModel& model, bool adaptive, const LanguageKernels& kernels,
                               const TurnTable<float>& turns, const TokenBatch& batch) {
  LanguageDesign design = model.design;
  design.adaptive = adaptive;
  TokenBatch placed = batch;
  if (design.positions == Positions::none) placed.positions.clear();
  LanguageParts<float> parts(kernels, design, placed);
  Floats logits(static_cast<std::size_t>(placed.targets()) * character_count);
  language_lane().forward(design.shape, model.parameters.data(), lane_batch(placed, turns), parts.calls(),
                          logits.data());
  std::vector<int> best;
  for (auto row = logits.begin(); row != logits.end(); row += character_count) {
    best.push_back(static_cast<int>(std::max_element(row, row + character_count) - row));
  }
  return best;
}

std::vector<LanguageCell> evaluate_language(const LanguageModel& model, bool adaptive, std::uint64_t stream,
                                            const LanguageKernels& kernels, const LanguageEvaluationOptions& options,
                                            const std::function<bool(double)>& progress) {
  check(options);
  const TurnTable<float> turns(model.design.shape);
  std::vector<LanguageCell> cells;
  for (const Algorithm& algorithm : algorithms()) {
    for (const int size : options.sizes) cells.push_back({algorithm.name, size});
  }
  std::atomic<bool> stopped = false;
  std::mutex mutex;
  std::size_t done = 0;
  models::in_parallel(cells.size(), options.threads, [&](std::size_t i) {
    if (stopped) return;
    // The longest cells first, so that no thread is left with one at the end.
    const std::size_t sizes = options.sizes.size(), algorithm = i % algorithms().size();
    const std::size_t place = algorithm * sizes + (sizes - 1 - i / algorithms().size());
    LanguageCell& cell = cells[place];
    RandomWords words = words_of_cell(options, stream, algorithm, cell.size);
    std::vector<Problem> problems;
    const auto& trained = model.algorithms;
    bool fits = trained.empty() || std::ranges::find(trained, cell.algorithm) != trained.end();
    for (int p = 0; p < options.problems; ++p) {
      problems.push_back(draw_problem(algorithms()[algorithm], cell.size, words));
      fits = fits &&
             static_cast<int>(problems.back().question.size() + problems.back().response.size()) <= options.most_tokens;
    }
    if (fits) cell.problems = scores_of(model, adaptive, kernels, turns, problems);
    const std::lock_guard lock(mutex);
    ++done;
    if (progress && !progress(static_cast<double>(done) / static_cast<double>(cells.size()))) stopped = true;
  });
  return cells;
}

}  // namespace softcheck::experiments
