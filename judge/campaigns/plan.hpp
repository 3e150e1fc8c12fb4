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

/// A network, trained from a seed and tested once.
struct TrainingQuestion {
  std::variant<experiments::TrainingOptions, experiments::LanguageTrainingOptions> options;
  std::vector<int> test_sizes = {};  // sizes of the test sets or problems
  int test_sets = 0;                 // per size; for a language model, problems per algorithm and size

  bool is_language() const { return options.index() == 1; }
  std::uint64_t seed() const;
  std::int64_t steps() const;
  /// The options as the network's file writes them.
  std::string words() const;
  /// Everything that decides the answer except the seed: equal for the networks of one table.
  std::string question() const;
  std::string text() const;
};

/// All combinations of the lists of one [[trainings]]; seeds vary fastest.
///
/// throws   PlanError
std::vector<TrainingQuestion> training_questions(const PlanEntry& entry);

/// A layer of a checkpoint, certified once.
struct LayerQuestion {
  std::string model;  // the checkpoint's name in the plan, relative to a folder that each machine chooses
  std::int64_t layer = 0;
  models::CertifyOptions options = {};
  bool vocabulary = false;                // for layer 0: also enumerate all tokens that it can read
  std::vector<std::string> fail_if = {};  // gates (models/report/gate.hpp)

  /// Everything that decides the answer except the layer: equal for the layers of one report.
  std::string question() const;
  /// The command that certifies the layer again.
  std::string text() const;
};

/// The layers of one [[models]], by model.
struct ModelsQuestion {
  std::vector<std::vector<LayerQuestion>> models;
  std::size_t per_shard = 1;  // layers
};

/// throws   PlanError
ModelsQuestion models_question(const PlanEntry& entry, std::size_t per_shard);

/// A kernel, judged once.
struct JudgementQuestion {
  KernelSubject subject;  // library named as in the plan, relative to a folder that each machine chooses
  Effort effort = Effort::quick;
  std::uint64_t seed = RunOptions{}.seed;
  std::optional<int> cases = {};  // per property; none: the effort's
  double seconds_per_call = KernelLimits{}.seconds_per_call;

  /// Everything that decides the answer, in one line: the command that judges again. Judgements with equal texts are
  /// equal.
  std::string text() const;
};

/// One question of a plan, answered in a shard's file.
struct Question {
  std::variant<JudgementQuestion, LayerQuestion, TrainingQuestion> about;

  std::string text() const;
};

/// The questions that one process answers and one file holds.
struct Shard {
  std::string key;              // 16 hexadecimal digits, computed from the texts alone
  std::vector<Question> asked;  // judgements, layers of one model, or one training
};

/// A campaign. Its shards depend only on the plan, and not on machines, workers or finished judgements.
struct Plan {
  std::string name;           // a title; empty: none
  std::string hash;           // of all questions and their split into shards, 64 hexadecimal digits
  std::vector<Shard> shards;  // kernels, models, trainings; each in the plan's order
  std::size_t asked() const;
};

/// Parses a plan in TOML; docs/campaigns.md lists its keys. Repeated questions are asked once.
///
/// name     of the file, for messages
/// throws   PlanError
Plan parse_plan(std::string_view text, std::string_view name);

}  // namespace softcheck::proptests
