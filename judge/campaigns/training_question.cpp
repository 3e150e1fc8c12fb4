#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "experiments/heads.hpp"
#include "judge/campaigns/plan.hpp"

namespace softcheck::proptests {
namespace {

using experiments::LanguageTrainingOptions;
using experiments::TrainingOptions;

constexpr std::int64_t most_steps = std::int64_t{1} << 40;
constexpr std::int64_t largest_count = 1 << 16;

/// Replaces each training by one training per value of a key.
template <class Values, class Set>
void multiply(std::vector<TrainingQuestion>& all, const Values& values, Set set) {
  std::vector<TrainingQuestion> product;
  for (const TrainingQuestion& one : all) {
    for (const auto& value : values) {
      product.push_back(one);
      set(product.back(), value);
    }
  }
  all = std::move(product);
}

/// A key of [[trainings]] that one or both kinds of networks have.
using Apply = std::function<void(const PlanKey&, std::vector<TrainingQuestion>&)>;
struct Option {
  std::string_view name;
  Apply apply;
};

template <class Options, class Number>
Apply integers(Number Options::*member, std::int64_t least, std::int64_t most) {
  return [=](const PlanKey& key, std::vector<TrainingQuestion>& all) {
    multiply(all, key.integers(least, most), [&](TrainingQuestion& one, std::int64_t value) {
      std::get<Options>(one.options).*member = static_cast<Number>(value);
    });
  };
}

template <class Options>
Apply numbers(double Options::*member, double least, double most) {
  return [=](const PlanKey& key, std::vector<TrainingQuestion>& all) {
    multiply(all, key.numbers(least, most),
             [&](TrainingQuestion& one, double value) { std::get<Options>(one.options).*member = value; });
  };
}

template <class Options>
Apply flag(bool Options::*member) {
  return [=](const PlanKey& key, std::vector<TrainingQuestion>& all) {
    const bool value = key.flag();
    for (TrainingQuestion& one : all) std::get<Options>(one.options).*member = value;
  };
}

/// For words that a parser knows; set() receives the options and the word.
template <class Options, class Set>
Apply words(Set set) {
  return [=](const PlanKey& key, std::vector<TrainingQuestion>& all) {
    try {
      multiply(all, key.texts("a word, or a list of words"),
               [&](TrainingQuestion& one, const std::string& word) { set(std::get<Options>(one.options), word); });
    } catch (const PlanError&) {
      throw;
    } catch (const std::invalid_argument& error) {
      const std::string what = error.what(), name = key.name() + ": ";
      throw PlanError(key.place() + (what.starts_with(name) ? "" : name) + what);
    }
  };
}

Apply shape_of(int experiments::LanguageShape::*member, std::int64_t least, std::int64_t most) {
  return [=](const PlanKey& key, std::vector<TrainingQuestion>& all) {
    multiply(all, key.integers(least, most), [&](TrainingQuestion& one, std::int64_t value) {
      std::get<LanguageTrainingOptions>(one.options).design.shape.*member = static_cast<int>(value);
    });
  };
}

/// In the order of the product, independent of the plan's order.
std::vector<Option> retrieval_options() {
  using T = TrainingOptions;
  return {{"head", words<T>([](T& t, const std::string& word) { t.head = experiments::parse_head(word); })},
          {"decay", words<T>([](T& t, const std::string& word) { t.decay = experiments::parse_decay(word); })},
          {"lambda", numbers(&T::lambda, 0, 1e3)},
          {"decay-biases", flag(&T::decay_biases)},
          {"cosine", flag(&T::cosine_schedule)},
          {"steps", integers(&T::steps, 1, most_steps)},
          {"learning-rate", numbers(&T::learning_rate, 1e-9, 10)},
          {"sets", integers(&T::sets_per_step, 1, largest_count)},
          {"smallest-set", integers(&T::smallest_set, 1, largest_count)},
          {"largest-set", integers(&T::largest_set, 1, largest_count)}};
}

void set_temperature(LanguageTrainingOptions& options, const std::string& word) {
  if (word != "plain" && word != "adaptive") throw std::invalid_argument("need plain or adaptive, got '" + word + "'");
  options.design.adaptive = word == "adaptive";
}

std::vector<Option> language_options() {
  using T = LanguageTrainingOptions;
  using Shape = experiments::LanguageShape;
  constexpr std::int64_t smallest_problem = 2, largest_problem = 61;
  return {{"attention",
           words<T>([](T& t, const std::string& word) { t.design.weights = experiments::parse_head_weights(word); })},
          {"temperature", words<T>(set_temperature)},
          {"positions",
           words<T>([](T& t, const std::string& word) { t.design.positions = experiments::parse_positions(word); })},
          {"layers", shape_of(&Shape::layers, 1, experiments::most_layers)},
          {"width", shape_of(&Shape::width, 16, 4096)},
          {"heads", shape_of(&Shape::heads, 1, 256)},
          {"inner", shape_of(&Shape::inner, 16, 16384)},
          {"steps", integers(&T::steps, 1, most_steps)},
          {"learning-rate", numbers(&T::learning_rate, 1e-9, 10)},
          {"warm-up", integers(&T::warm_up, 0, most_steps)},
          {"decay", numbers(&T::weight_decay, 0, 1e3)},
          {"clip", numbers(&T::clip, 1e-9, 1e9)},
          {"tokens", integers(&T::tokens_per_step, 1, 1 << 20)},
          {"smallest", integers(&T::smallest, smallest_problem, largest_problem)},
          {"largest", integers(&T::largest, smallest_problem, largest_problem)}};
}

const PlanKey* find(const PlanEntry& entry, std::string_view name) {
  const auto found = std::ranges::find(entry.keys, name, &PlanKey::name);
  return found == entry.keys.end() ? nullptr : &*found;
}

bool is_language(const PlanEntry& entry) {
  const PlanKey* network = find(entry, "network");
  const std::string need = "\"max-retrieval\" or \"language\"";
  if (network == nullptr) throw PlanError(entry.place + "need network = " + need + " in [[trainings]], got none");
  const std::string word = network->text(need);
  if (word != "max-retrieval" && word != "language") network->wrong(need, "\"" + word + "\"");
  return word == "language";
}

void set_tests(const PlanEntry& entry, TrainingQuestion& one) {
  const bool language = one.is_language();
  one.test_sizes = language ? std::vector{4, 8, 12, 16} : std::vector{16, 64, 256, 1024};
  one.test_sets = language ? 8 : 128;
  constexpr std::int64_t largest_set = 1 << 20, largest_problem = 61;
  if (const PlanKey* sizes = find(entry, "test-sizes")) {
    one.test_sizes.clear();
    for (const std::int64_t size : sizes->integers(language ? 2 : 1, language ? largest_problem : largest_set)) {
      one.test_sizes.push_back(static_cast<int>(size));
    }
  }
  if (const PlanKey* sets = find(entry, "test-sets")) {
    one.test_sets = static_cast<int>(sets->integer(1, largest_count));
  }
}

/// Rejects options that contradict each other.
void check(const PlanEntry& entry, const TrainingQuestion& one) {
  if (const auto* retrieval = std::get_if<TrainingOptions>(&one.options)) {
    if (retrieval->largest_set >= retrieval->smallest_set) return;
    throw PlanError(entry.place + fmt::format("largest-set: need at least smallest-set, {}, got {}",
                                              retrieval->smallest_set, retrieval->largest_set));
  }
  const auto& language = std::get<LanguageTrainingOptions>(one.options);
  try {
    experiments::check_shape(language.design.shape);
  } catch (const std::invalid_argument& error) {
    throw PlanError(entry.place + error.what());
  }
  if (language.largest >= language.smallest) return;
  throw PlanError(entry.place +
                  fmt::format("largest: need at least smallest, {}, got {}", language.smallest, language.largest));
}

std::string without_seed(std::string words) {
  const std::size_t at = words.find("seed=");
  return at == std::string::npos ? words : words.erase(at, words.find(' ', at) + 1 - at);
}

std::string tests_of(const TrainingQuestion& asked) {
  return fmt::format("tested on {} {} of {}", asked.test_sets,
                     asked.is_language() ? "problems of each algorithm with sizes" : "sets with sizes",
                     fmt::join(asked.test_sizes, ", "));
}

}  // namespace

std::uint64_t TrainingQuestion::seed() const {
  return std::visit([](const auto& o) { return o.seed; }, options);
}
std::int64_t TrainingQuestion::steps() const {
  return std::visit([](const auto& o) { return o.steps; }, options);
}
std::string TrainingQuestion::words() const {
  return std::visit([](const auto& o) { return experiments::to_text(o); }, options);
}
std::string TrainingQuestion::question() const {
  return (is_language() ? "" : "model=max-retrieval ") + without_seed(words()) + "; " + tests_of(*this);
}
std::string TrainingQuestion::text() const {
  return (is_language() ? "train-language " : "train ") + words() + "; " + tests_of(*this);
}

std::vector<TrainingQuestion> training_questions(const PlanEntry& entry) {
  const bool language = is_language(entry);
  TrainingQuestion first;
  if (language) first.options = LanguageTrainingOptions{};
  set_tests(entry, first);
  std::vector<TrainingQuestion> all{first};
  const std::vector<Option> options = language ? language_options() : retrieval_options();
  std::string known = "network, seed, test-sizes, test-sets";
  for (const Option& option : options) known += fmt::format(", {}", option.name);
  for (const PlanKey& key : entry.keys) {
    const bool general =
        std::ranges::count(std::array<std::string_view, 4>{"network", "seed", "test-sizes", "test-sets"}, key.name()) >
        0;
    if (!general && std::ranges::find(options, key.name(), &Option::name) == options.end()) key.unknown(known);
  }
  for (const Option& option : options) {
    if (const PlanKey* key = find(entry, option.name)) option.apply(*key, all);
  }
  for (const TrainingQuestion& one : all) check(entry, one);
  if (const PlanKey* seeds = find(entry, "seed")) {
    multiply(all, seeds->integers(0, std::numeric_limits<std::int64_t>::max()),
             [](TrainingQuestion& one, std::int64_t seed) {
               std::visit([&](auto& o) { o.seed = static_cast<std::uint64_t>(seed); }, one.options);
             });
  }
  return all;
}

}  // namespace softcheck::proptests
