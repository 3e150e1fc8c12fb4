#include "experiments/figures/adaptive_language.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "experiments/tables/accuracy_table.hpp"
#include "models/forward/forward_pass.hpp"
#include "models/read/file_errors.hpp"
#include "models/read/file_source.hpp"

namespace softcheck::experiments {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;
constexpr double typical_items = 64;  // log_n leaves shorter rows as they are
constexpr double constant_beta = 2;   // that of the controls: about the mean of Fig. 4's

class TaskLine {
 public:
  TaskLine(std::string place, const std::string& line) : place_(std::move(place)) {
    std::istringstream text(line);
    for (std::string column; std::getline(text, column, '\t');) columns_.push_back(column);
    if (columns_.size() != 5) fail("five columns between tabs, got " + std::to_string(columns_.size()));
  }

  LanguageTask task() const {
    LanguageTask task{columns_[0], number(columns_[1]), columns_[2] == "text", {}, {}};
    if (!task.is_text && columns_[2] != "questions") fail("text or questions, got '" + columns_[2] + "'");
    for (const std::string& id : parts(columns_[4], ' ')) task.ids.push_back(number(id));
    for (const std::string& range : parts(columns_[3], ',')) {
      const std::vector<std::string> ends = parts(range, '-');
      const Answer answer = ends.size() == 2 ? Answer{number(ends[0]), number(ends[1])} : Answer{};
      if (answer.begin < 1 || answer.begin >= answer.end || answer.end > static_cast<std::int64_t>(task.ids.size())) {
        fail("answers BEGIN-END of the ids, the first from 1 on, got '" + range + "'");
      }
      task.answers.push_back(answer);
    }
    if (task.answers.empty()) fail("an answer, got none");
    return task;
  }

 private:
  std::int64_t number(const std::string& text) const {
    std::int64_t value = -1;
    const char* const end = text.data() + text.size();
    if (std::from_chars(text.data(), end, value).ptr != end || text.empty() || value < 0 || value > INT32_MAX) {
      fail("numbers from 0 to 2^31 - 1, got '" + text + "'");
    }
    return value;
  }

  static std::vector<std::string> parts(const std::string& text, char between) {
    std::vector<std::string> result;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, between);) result.push_back(part);
    return result;
  }

  [[noreturn]] void fail(const std::string& needed) const {
    throw models::TensorFileError(place_ + ": need " + needed);
  }

  std::string place_;
  std::vector<std::string> columns_;
};

std::vector<models::Weighing> weighing_of(const LanguageArm& arm, const std::vector<bool>& has_window,
                                          const AdaptiveLanguageOptions& options) {
  std::vector<models::Weighing> result;
  for (std::size_t layer = 0; layer < has_window.size(); ++layer) {
    models::Weighing& weighing = result.emplace_back(models::Weighing{.kernel = options.plain});
    if ((arm.late_only && layer < has_window.size() / 2) || (arm.global_only && has_window[layer])) continue;
    if (arm.adaptive) weighing = {.kernel = options.adaptive, .adaptive = true};
    if (arm.constant != 1) weighing.factor = [beta = arm.constant](std::int64_t) { return beta; };
    if (arm.by_length) {
      weighing.factor = [](std::int64_t keys) {
        return std::max(1.0, std::log(static_cast<double>(keys)) / std::log(typical_items));
      };
    }
  }
  return result;
}

// One unit's means, from what the model says of its answers' tokens.
void add_unit(ArmScore& score, std::span<const Answer> answers, const models::PredictedToken*& token) {
  double right = 0, log_probability = 0;
  for (const Answer& answer : answers) {
    std::int64_t hits = 0;
    double sum = 0;
    const std::int64_t count = answer.end - answer.begin;
    for (std::int64_t i = 0; i < count; ++i, ++token) {
      hits += token->most_probable ? 1 : 0;
      sum += token->log_probability;
    }
    const auto length = static_cast<double>(count);
    right += score.is_text ? static_cast<double>(hits) / length : (hits == count ? 1 : 0);
    log_probability += score.is_text ? sum / length : sum;
  }
  const auto count = static_cast<double>(answers.size());
  score.right.push_back(right / count);
  score.log_probability.push_back(log_probability / count);
  score.answers += answers.size();
}

ArmScore& score_of(std::vector<ArmScore>& scores, const LanguageTask& task, const std::string& arm) {
  const auto found = std::ranges::find_if(
      scores, [&](const ArmScore& s) { return s.task == task.name && s.items == task.items && s.arm == arm; });
  if (found != scores.end()) return *found;
  return scores.emplace_back(ArmScore{.task = task.name, .items = task.items, .is_text = task.is_text, .arm = arm});
}

const ArmScore& plain_of(const std::vector<ArmScore>& scores, const ArmScore& score) {
  return *std::ranges::find_if(scores,
                               [&](const ArmScore& s) { return s.task == score.task && s.items == score.items; });
}

// p of the differences from plain; none for plain itself.
std::string p_value(const std::vector<double>& own, const std::vector<double>& plain) {
  const std::optional<double> p = &own == &plain ? std::nullopt : paired_p_value(own, plain);
  return p ? fmt::format("{:.2g}", *p) : "";
}

}  // namespace

std::vector<LanguageTask> read_language_tasks(const std::filesystem::path& path) {
  std::istringstream text(models::read_text_file(path, most_bytes));
  std::vector<LanguageTask> tasks;
  std::size_t number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (!line.empty()) tasks.push_back(TaskLine(fmt::format("{}: line {}", path.string(), number), line).task());
  }
  if (tasks.empty()) throw models::TensorFileError(path.string() + ": need a line for each task, got none");
  return tasks;
}

std::vector<LanguageArm> language_arms(const std::vector<bool>& layer_has_window) {
  const auto windows = std::ranges::count(layer_has_window, true);
  const bool has_global = windows != 0 && windows != std::ssize(layer_has_window);
  std::vector<LanguageArm> arms{{.name = "plain"}, {.name = "adaptive", .adaptive = true}};
  if (has_global) arms.push_back({.name = "adaptive_global", .adaptive = true, .global_only = true});
  arms.push_back({.name = "adaptive_late", .adaptive = true, .late_only = true});
  if (has_global) arms.push_back({.name = "constant_global", .constant = constant_beta, .global_only = true});
  arms.push_back({.name = "constant_late", .constant = constant_beta, .late_only = true});
  arms.push_back({.name = "log_n", .by_length = true});
  return arms;
}

std::vector<ArmScore> score_arms(const AdaptiveLanguageOptions& options) {
  const auto checkpoint = models::open_checkpoint(options.model);
  const models::ModelDescription model = models::describe(*checkpoint);
  const std::vector<LanguageTask> tasks = read_language_tasks(options.tasks);
  std::vector<bool> has_window;
  for (std::size_t head = 0; head < model.head_list.size(); head += static_cast<std::size_t>(model.heads)) {
    has_window.push_back(model.head_list[head].window.has_value());
  }
  const std::vector<LanguageArm> arms = language_arms(has_window);
  models::TokenIds inputs;
  std::vector<Eigen::Index> columns;
  Eigen::Index first = 0;
  for (const LanguageTask& task : tasks) {
    inputs.push_back(task.ids);
    for (const Answer& answer : task.answers) {
      for (std::int64_t i = answer.begin; i < answer.end; ++i) columns.push_back(first + i);
    }
    first += static_cast<Eigen::Index>(task.ids.size());
  }
  std::vector<ArmScore> scores;
  for (const LanguageArm& arm : arms) {
    if (options.progress) options.progress(arm.name);
    const models::ForwardPass pass(*checkpoint, model, inputs, weighing_of(arm, has_window, options), options.threads);
    const std::vector<models::PredictedToken> tokens = pass.predicted(columns);
    const models::PredictedToken* token = tokens.data();
    for (const LanguageTask& task : tasks) {
      ArmScore& score = score_of(scores, task, arm.name);
      const std::span<const Answer> answers(task.answers);
      for (std::size_t i = 0; i < answers.size(); i += task.is_text ? 1 : answers.size()) {
        add_unit(score, answers.subspan(i, task.is_text ? 1 : answers.size()), token);
      }
    }
  }
  std::vector<ArmScore> sorted;
  for (const LanguageTask& task : tasks) {
    if (std::ranges::any_of(sorted, [&](const ArmScore& s) { return s.task == task.name && s.items == task.items; }))
      continue;
    for (const LanguageArm& arm : arms) sorted.push_back(score_of(scores, task, arm.name));
  }
  return sorted;
}

std::string to_text(const std::vector<ArmScore>& scores) {
  std::string text =
      "| task, n (answers in units) | arm | right, % | difference | p | log p | difference | p |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const ArmScore& s : scores) {
    const ArmScore& plain = plain_of(scores, s);
    const double right = 100 * mean_of(s.right).value, log_p = mean_of(s.log_probability).value;
    text += fmt::format(
        "| {} | {} | {:.1f} |",
        &s == &plain ? fmt::format("{}, {} ({} in {})", s.task, s.items, s.answers, s.right.size()) : "", s.arm, right);
    text += &s == &plain
                ? fmt::format(" | | {:.3f} | | |\n", log_p)
                : fmt::format(" {:+.1f} | {} | {:.3f} | {:+.3f} | {} |\n", right - 100 * mean_of(plain.right).value,
                              p_value(s.right, plain.right), log_p, log_p - mean_of(plain.log_probability).value,
                              p_value(s.log_probability, plain.log_probability));
  }
  return text;
}

Figure adaptive_language_tables(const std::vector<ArmScore>& scores) {
  std::string csv = "task,items,arm,answers,units,right,right - plain,p of right,log p,log p - plain,p of log p\n";
  std::string units = "task,items,arm,unit,right,log p\n";
  for (const ArmScore& s : scores) {
    const ArmScore& plain = plain_of(scores, s);
    const double right = mean_of(s.right).value, log_p = mean_of(s.log_probability).value;
    csv += fmt::format("{},{},{},{},{},{:.9g},{:.9g},{},{:.9g},{:.9g},{}\n", s.task, s.items, s.arm, s.answers,
                       s.right.size(), right, right - mean_of(plain.right).value, p_value(s.right, plain.right), log_p,
                       log_p - mean_of(plain.log_probability).value, p_value(s.log_probability, plain.log_probability));
    for (std::size_t u = 0; u < s.right.size(); ++u) {
      units += fmt::format("{},{},{},{},{:.9g},{:.9g}\n", s.task, s.items, s.arm, u, s.right[u], s.log_probability[u]);
    }
  }
  return {{{"adaptive_language", csv}, {"adaptive_language_units", units}}, {}};
}

}  // namespace softcheck::experiments
