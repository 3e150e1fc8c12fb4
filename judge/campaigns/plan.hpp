#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "experiments/language/language_training.hpp"
#include "experiments/training.hpp"
#include "judge/campaigns/plan_entry.hpp"
#include "judge/trial/kernel_judgement.hpp"
#include "models/bounds/head_certificate.hpp"

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
std::vector<TrainingQuestion> training_questions(const PlanEntry& entry);

/// One layer of a checkpoint, certified once.
struct LayerQuestion {
  std::string model;  // the checkpoint as the plan names it: relative to a folder that each machine chooses
  std::int64_t layer = 0;
  models::CertifyOptions options = {};
  bool vocabulary = false;                // of layer 0: what it can read is enumerated, too
  std::vector<std::string> fail_if = {};  // gates (models/report/gate.hpp)

  /// All that decides the answer but the layer: equal for the layers of one report.
  std::string question() const;
  /// The command that certifies the layer again.
  std::string text() const;
};

/// The layers that one [[models]] asks for, model by model.
struct ModelsQuestion {
  std::vector<std::vector<LayerQuestion>> models;
  std::size_t per_shard = 1;  // layers
};

/// throws   PlanError
ModelsQuestion models_question(const PlanEntry& entry, std::size_t per_shard);

/// One kernel, judged once.
struct JudgementQuestion {
  KernelSubject subject;  // its library as the plan names it: relative to a folder that each machine chooses
  Effort effort = Effort::quick;
  std::uint64_t seed = RunOptions{}.seed;
  std::optional<int> cases = {};  // of each property; none: the effort's
  double seconds_per_call = KernelLimits{}.seconds_per_call;

  /// All that decides the answer, on one line: the command that judges again. Two judgements with one text are the
  /// same.
  std::string text() const;
};

/// One question of a plan: what an answer in a shard's file is about.
struct Question {
  std::variant<JudgementQuestion, LayerQuestion, TrainingQuestion> about;

  std::string text() const;
};

/// What one process does and one file holds.
struct Shard {
  std::string key;              // of the texts alone: 16 hexadecimal digits
  std::vector<Question> asked;  // all judgements, all layers of one model, or one training
};

/// A campaign. Its shards depend on the plan alone: not on machines, workers, or what has been judged already.
struct Plan {
  std::string name;           // a title; empty: none
  std::string hash;           // of all that is asked and how it is split, in 64 hexadecimal digits
  std::vector<Shard> shards;  // kernels, models, trainings; each in the plan's order
  std::size_t asked() const;
};

/// Reads a plan in TOML; docs/campaigns.md lists its keys. What the plan names twice is done once.
///
/// name     of the file, for messages
/// throws   PlanError
Plan parse_plan(std::string_view text, std::string_view name);

}  // namespace softcheck::proptests
