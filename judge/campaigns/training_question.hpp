#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "experiments/language/language_training.hpp"
#include "experiments/training.hpp"
#include "judge/campaigns/plan_entry.hpp"

namespace softcheck::proptests {

/// One network, trained from a seed and tested once.
struct TrainingQuestion {
  std::variant<experiments::TrainingOptions, experiments::LanguageTrainingOptions> options;
  std::vector<int> test_sizes = {};  // of the sets, or problems, that it is tested on
  int test_sets = 0;                 // of each size; of a language model, problems of each algorithm and size

  bool is_language() const { return options.index() == 1; }
  std::uint64_t seed() const;
  std::int64_t steps() const;
  /// The words that the network's file has as its options.
  std::string words() const;
  /// All that decides the answer but the seed: equal for the networks of one table.
  std::string question() const;
  std::string text() const;
};

/// The product of the lists of one [[trainings]]; seeds run fastest.
///
/// throws   PlanError
std::vector<TrainingQuestion> asked_trainings(const PlanEntry& entry);

}  // namespace softcheck::proptests
