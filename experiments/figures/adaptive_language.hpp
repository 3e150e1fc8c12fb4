#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "experiments/figures/gnuplot.hpp"
#include "kernels/abi/softcheck_kernel.h"

namespace softcheck::experiments {

/// Tokens of an input that a model must predict, each from all before it.
struct Answer {
  std::int64_t begin = 0, end = 0;  // in the input; 1 <= begin < end
};

/// An input and what is asked of it.
struct LanguageTask {
  std::string name;
  std::int64_t items = 0;
  bool is_text = false;  // each answer is a unit of the paired test, a part of a text; else all answers are one
  std::vector<Answer> answers;
  std::vector<std::int64_t> ids;
};

/// Reads what prompts.py writes: a line for each task of five columns between tabs, the name, items, "text" or
/// "questions", answers as BEGIN-END between commas, and ids between blanks.
///
/// throws   as models::read_token_ids, naming the line where a column is something else
std::vector<LanguageTask> read_language_tasks(const std::filesystem::path& path);

/// How the layers weigh their scores: all with one kernel, or those that a word names.
struct LanguageArm {
  std::string name;
  bool adaptive = false;     // Fig. 4's temperature
  double constant = 1;       // times the scores
  bool by_length = false;    // times max(1, ln n / ln 64) for a query that sees n keys
  bool late_only = false;    // in the upper half of the layers
  bool global_only = false;  // in the layers without a window
};

/// plain, adaptive, adaptive_global, adaptive_late, constant_global, constant_late, log_n; those of global layers only
/// where some layers have a window and some have none.
std::vector<LanguageArm> language_arms(const std::vector<bool>& layer_has_window);

/// One arm's answers of all tasks of a name and a number of items.
struct ArmScore {
  std::string task;
  std::int64_t items = 0;
  bool is_text = false;
  std::string arm;
  std::size_t answers = 0;
  /// Of each unit the mean over its answers: 1 where every token of an answer is the most probable one, of a text the
  /// share of such tokens; and the logarithm of an answer's probability, of a text's token.
  std::vector<double> right = {}, log_probability = {};
};

struct AdaptiveLanguageOptions {
  std::string model;
  std::string tasks;
  softcheck_kernel plain = nullptr;     // softcheck_attention
  softcheck_kernel adaptive = nullptr;  // softcheck_adaptive_attention
  unsigned threads = 1;
  std::function<void(const std::string& text)> progress = {};
};

/// Runs the model with every arm on all tasks.
///
/// returns  task by task as they first come, arm by arm
/// throws   as models::open_checkpoint, describe, read_language_tasks and ForwardPass
std::vector<ArmScore> score_arms(const AdaptiveLanguageOptions& options);

/// The scores, each with its difference from plain and p of the paired t-test over the units: a Markdown table.
std::string to_text(const std::vector<ArmScore>& scores);
/// The same as adaptive_language.csv, and every unit as adaptive_language_units.csv.
Figure adaptive_language_tables(const std::vector<ArmScore>& scores);

}  // namespace softcheck::experiments
