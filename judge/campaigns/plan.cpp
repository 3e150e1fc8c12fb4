// Compiled alone: toml++ takes seconds.
#include "judge/campaigns/plan.hpp"

// Debian's CMake target requires the shared library; the header alone does not.
#define TOML_HEADER_ONLY 1
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <set>
#include <sstream>
#include <utility>

#include "experiments/sha256.hpp"
#include "judge/exhaustive/exhaustive_judge.hpp"
#include "judge/trial/command_line.hpp"
#include "judge/trial/kernel_claims.hpp"

namespace softcheck::proptests {
namespace {

/// The keys of one [[kernels]]; the keys before the first one are its defaults.
struct Words {
  std::vector<std::string> kernel, op{"softmax"}, dtype{"f32"}, contract{""}, effort{"quick"}, exempt;
  std::vector<std::int64_t> seed{static_cast<std::int64_t>(RunOptions{}.seed)};
  std::string out_dtype, domain, require;
  std::optional<std::int64_t> cases;
  double time_limit = KernelLimits{}.seconds_per_call;
};

class PlanReader {
 public:
  explicit PlanReader(std::string_view name) : name_(name) {}

  Plan read(std::string_view text) {
    const toml::table table = parsed(text);
    Plan plan;
    Words usual;
    std::int64_t per_shard = 1;
    const toml::array *kernels = nullptr, *models = nullptr, *trainings = nullptr;
    for (const auto& [key, value] : table) {
      if (key.str() == "kernels") {
        kernels = tables_of(key.str(), value);
      } else if (key.str() == "models") {
        models = tables_of(key.str(), value);
      } else if (key.str() == "trainings") {
        trainings = tables_of(key.str(), value);
      } else if (key.str() == "name") {
        plan.name = string_of(key.str(), value);
      } else if (key.str() == "shard") {
        per_shard = integer_of(key.str(), value, 1, 1'000'000);
      } else if (key.str() == "kernel" || !read_word(key.str(), value, usual)) {
        wrong(key, "need name, shard, a key of [[kernels]], [[kernels]], [[models]] or [[trainings]], got '" +
                       std::string(key.str()) + "'");
      }
    }
    if (kernels == nullptr && models == nullptr && trainings == nullptr) {
      throw PlanError(std::string(name_) + ": need [[kernels]], [[models]] or [[trainings]], got none");
    }
    const auto usual_size = static_cast<std::size_t>(per_shard);
    std::vector<Question> judgements;
    for_each(kernels, [&](const toml::table& entry) { add(entry, usual, judgements); });
    split(std::move(judgements), usual_size, plan);
    for_each(models, [&](const toml::table& entry) {
      const ModelsQuestion asked = models_question(neutral(entry), usual_size);
      for (const std::vector<LayerQuestion>& layers : asked.models) split(new_of(layers), asked.per_shard, plan);
    });
    for_each(trainings, [&](const toml::table& entry) { split(new_of(training_questions(neutral(entry))), 1, plan); });
    set_hash(plan);
    return plan;
  }

 private:
  toml::table parsed(std::string_view text) {
    try {
      return toml::parse(text, name_);
    } catch (const toml::parse_error& error) {
      throw PlanError(place(error.source()) + std::string(error.description()));
    }
  }

  std::string place(const toml::source_region& source) const {
    return std::string(name_) + ":" + std::to_string(source.begin.line) + ": ";
  }
  template <class Node>
  [[noreturn]] void wrong(const Node& node, const std::string& what) const {
    throw PlanError(place(node.source()) + what);
  }

  std::string string_of(std::string_view key, const toml::node& node) const {
    if (const std::optional<std::string> value = node.value_exact<std::string>()) return *value;
    wrong(node, std::string(key) + ": need a string, got " + shown(node));
  }
  std::int64_t integer_of(std::string_view key, const toml::node& node, std::int64_t least, std::int64_t most) const {
    const std::optional<std::int64_t> value = node.value_exact<std::int64_t>();
    if (value && *value >= least && *value <= most) return *value;
    wrong(node, std::string(key) + ": need an integer from " + std::to_string(least) + " to " + std::to_string(most) +
                    ", got " + shown(node));
  }

  const toml::array* tables_of(std::string_view key, const toml::node& node) const {
    const toml::array* tables = node.as_array();
    if (tables != nullptr && tables->is_homogeneous<toml::table>()) return tables;
    wrong(node, "need [[" + std::string(key) + "]], got " + std::string(key) + " = " + shown(node));
  }
  template <class Job>
  static void for_each(const toml::array* tables, Job job) {
    if (tables == nullptr) return;
    for (const toml::node& entry : *tables) job(*entry.as_table());
  }

  /// The node as one line of TOML.
  static std::string shown(const toml::node& node) {
    std::ostringstream text;
    node.visit([&](const auto& value) { text << value; });
    std::string line = text.str();
    std::ranges::replace(line, '\n', ' ');
    constexpr std::size_t longest = 80;
    return line.size() <= longest ? line : line.substr(0, longest) + "...";
  }
  static PlanValue neutral(const toml::node& node) {
    PlanValue value{{}, shown(node)};
    if (const auto* flag = node.as_boolean()) value.value = flag->get();
    if (const auto* integer = node.as_integer()) value.value = integer->get();
    if (const auto* number = node.as_floating_point()) value.value = number->get();
    if (const auto* text = node.as_string()) value.value = text->get();
    return value;
  }
  PlanEntry neutral(const toml::table& table) const {
    PlanEntry entry{place(table.source()), {}};
    for (const auto& [key, node] : table) {
      std::vector<PlanValue> values;
      const toml::array* list = node.as_array();
      if (list == nullptr) {
        values.push_back(neutral(node));
      } else {
        for (const toml::node& one : *list) values.push_back(neutral(one));
      }
      entry.keys.emplace_back(place(key.source()), std::string(key.str()), std::move(values), list != nullptr);
    }
    return entry;
  }

  /// A value, or a list of values.
  template <class T, class Read>
  std::vector<T> list_of(std::string_view key, const toml::node& node, bool may_be_empty, Read&& read) const {
    const toml::array* array = node.as_array();
    if (array == nullptr) return {read(node)};
    if (array->empty() && !may_be_empty) wrong(node, std::string(key) + ": need at least one, got an empty list");
    std::vector<T> values;
    for (const toml::node& one : *array) values.push_back(read(one));
    return values;
  }
  std::vector<std::string> strings_of(std::string_view key, const toml::node& node, bool may_be_empty = false) const {
    return list_of<std::string>(key, node, may_be_empty, [&](const toml::node& one) { return string_of(key, one); });
  }

  /// Returns false if there is no such key.
  bool read_word(std::string_view key, const toml::node& value, Words& words) const {
    constexpr std::int64_t most_cases = 10'000'000;
    if (key == "kernel") {
      words.kernel = strings_of(key, value);
    } else if (key == "op") {
      words.op = strings_of(key, value);
    } else if (key == "dtype") {
      words.dtype = strings_of(key, value);
    } else if (key == "contract") {
      words.contract = strings_of(key, value);
    } else if (key == "effort") {
      words.effort = strings_of(key, value);
    } else if (key == "exempt") {
      words.exempt = strings_of(key, value, true);
    } else if (key == "seed") {
      words.seed = list_of<std::int64_t>(key, value, false, [&](const toml::node& one) {
        return integer_of(key, one, 0, std::numeric_limits<std::int64_t>::max());
      });
    } else if (key == "out-dtype") {
      words.out_dtype = string_of(key, value);
    } else if (key == "domain") {
      words.domain = string_of(key, value);
    } else if (key == "require") {
      words.require = string_of(key, value);
    } else if (key == "cases") {
      words.cases = integer_of(key, value, 1, most_cases);
    } else if (key == "time-limit") {
      const std::optional<double> seconds = value.value<double>();
      if (!seconds || !(*seconds >= 0.001 && *seconds <= 86400.0)) {
        wrong(value, "time-limit: need a number from 0.001 to 86400, got " + shown(value));
      }
      words.time_limit = *seconds;
    } else {
      return false;
    }
    return true;
  }

  void add(const toml::table& entry, const Words& usual, std::vector<Question>& all) {
    Words words = usual;
    for (const auto& [key, value] : entry) {
      if (read_word(key.str(), value, words)) continue;
      wrong(key,
            "need kernel, op, dtype, out-dtype, contract, domain, require, exempt, effort, seed, cases or "
            "time-limit, got '" +
                std::string(key.str()) + "'");
    }
    if (words.kernel.empty()) wrong(entry, "need kernel = \"LIB:SYMBOL\" in [[kernels]], got none");
    try {
      for (const std::string& kernel : words.kernel) {
        for (const std::string& op : words.op) {
          for (const std::string& dtype : words.dtype) {
            for (const std::string& contract : words.contract)
              add(words, subject(words, kernel, op, dtype, contract), all);
          }
        }
      }
    } catch (const PlanError&) {
      throw;
    } catch (const std::invalid_argument& error) {
      wrong(entry, error.what());
    }
  }

  static KernelSubject subject(const Words& words, const std::string& kernel, const std::string& op,
                               const std::string& dtype, const std::string& contract) {
    KernelSubject subject;
    subject.source = parse_kernel_source(kernel);
    // For a name without a slash the loader searches the system's folders.
    if (subject.source.library.find('/') == std::string::npos) subject.source.library.insert(0, "./");
    subject.op = parse_op(op);
    const numerics::Format input = format(dtype), usual = output_format(subject.op, input);
    const numerics::Format output = words.out_dtype.empty() ? usual : format(words.out_dtype);
    if (output != usual && output != input) {
      throw std::invalid_argument("out-dtype: need what the op writes, or its input's, got '" + words.out_dtype + "'");
    }
    subject.contract = numerics::parse_contract(contract, input, output);
    subject.domain = domain_of(words.domain, subject.op);
    subject.required = parse_requirements(words.require);
    if (const std::string refused = refused_place(subject.required, subject.op); !refused.empty()) {
      throw std::invalid_argument("require: " + refused);
    }
    subject.exempt = parse_exemptions(words.exempt, subject.op);
    return subject;
  }

  static numerics::Format format(const std::string& dtype) {
    if (const std::optional<numerics::Format> found = numerics::find_format(dtype)) return *found;
    throw std::invalid_argument("dtype: need " + numerics::format_names() + ", got '" + dtype + "'");
  }

  void add(const Words& words, const KernelSubject& subject, std::vector<Question>& all) {
    for (const std::string& word : words.effort) {
      const Effort effort = parse_effort(word);
      if (effort == Effort::exhaustive) require_enumerable(subject);
      for (const std::int64_t seed : words.seed) {
        JudgementQuestion asked{subject, effort, static_cast<std::uint64_t>(seed), {}, words.time_limit};
        if (words.cases) asked.cases = static_cast<int>(*words.cases);
        if (texts_.insert(asked.text()).second) all.push_back({std::move(asked)});
      }
    }
  }

  /// The questions that the plan has not asked before.
  template <class One>
  std::vector<Question> new_of(const std::vector<One>& all) {
    std::vector<Question> added;
    for (const One& one : all) {
      if (texts_.insert(one.text()).second) added.push_back({one});
    }
    return added;
  }

  static void split(std::vector<Question> all, std::size_t per_shard, Plan& plan) {
    for (std::size_t first = 0; first < all.size(); first += per_shard) {
      Shard shard;
      std::string texts;
      for (std::size_t i = first; i < std::min(all.size(), first + per_shard); ++i) {
        texts += all[i].text() + "\n";
        shard.asked.push_back(std::move(all[i]));
      }
      constexpr std::size_t digits = 16;
      shard.key = experiments::sha256(texts).substr(0, digits);
      plan.shards.push_back(std::move(shard));
    }
  }

  static void set_hash(Plan& plan) {
    std::string keys = "softcheck plan 1\n";
    for (const Shard& shard : plan.shards) keys += shard.key + "\n";
    plan.hash = experiments::sha256(keys);
  }

  std::string_view name_;
  std::set<std::string> texts_;  // of all questions so far
};

}  // namespace

std::string JudgementQuestion::text() const {
  std::string text = command_line(subject) + " --effort " + to_string(effort) + " --seed " + std::to_string(seed);
  if (cases) text += " --cases " + std::to_string(*cases);
  if (seconds_per_call != KernelLimits{}.seconds_per_call) {
    std::array<char, 64> limit;
    std::snprintf(limit.data(), limit.size(), " --time-limit %.17g", seconds_per_call);
    text += limit.data();
  }
  return text;
}

std::string Question::text() const {
  return std::visit([](const auto& one) { return one.text(); }, about);
}

std::size_t Plan::asked() const {
  std::size_t count = 0;
  for (const Shard& shard : shards) count += shard.asked.size();
  return count;
}

Plan parse_plan(std::string_view text, std::string_view name) { return PlanReader(name).read(text); }

}  // namespace softcheck::proptests
