#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "judge/campaigns/layer_question.hpp"
#include "judge/campaigns/plan_entry.hpp"
#include "judge/campaigns/training_question.hpp"
#include "judge/trial/kernel_judgement.hpp"

namespace softcheck::proptests {

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
