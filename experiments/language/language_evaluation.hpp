#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/language/algorithms/problem.hpp"
#include "experiments/language/language_parts.hpp"
#include "experiments/language/language_training.hpp"

namespace softcheck::experiments {

/// A model's score on one problem. Every predicted character is the most probable one after the true characters.
struct ProblemScore {
  /// Trace and answer: just where decoding by the most probable character would write the whole response.
  bool whole = false;
  bool answer = false;  // the answer, after the true trace
  int right = 0;        // characters of the response
  int characters = 0;   // of them all
};

/// Problems of one algorithm and size.
struct LanguageCell {
  std::string_view algorithm;
  int size = 0;
  std::vector<ProblemScore> problems =
      {};  // none if a text is longer than most_tokens, or if the model was not trained on it
};

struct LanguageEvaluationOptions {
  std::uint64_t seed = 1;  // of the problems; no training draws from it
  std::vector<int> sizes{4, 8, 12, 16, 20, 24, 32, 48};
  int problems = 32;       // of each algorithm and size
  int most_tokens = 2048;  // of a text
  unsigned threads = 1;
};

/// The most probable character after each of a text's characters from first on, in the order of add_text().
std::vector<int> most_probable(const LanguageModel& model, bool adaptive, const LanguageKernels& kernels,
                               const TurnTable<float>& turns, const TokenBatch& batch);

/// A model on problems that the seed, the stream, the algorithm and the size fix.
///
/// adaptive   temperature, for models trained with it or without
/// progress   gets the share of finished cells; false ends the work
/// returns    algorithm by algorithm in their order, size by size
/// throws     std::invalid_argument for options out of range
std::vector<LanguageCell> evaluate_language(const LanguageModel& model, bool adaptive, std::uint64_t stream,
                                            const LanguageKernels& kernels, const LanguageEvaluationOptions& options,
                                            const std::function<bool(double)>& progress = {});

}  // namespace softcheck::experiments
