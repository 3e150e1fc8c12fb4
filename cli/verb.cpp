#include "cli/verb.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "cli/exit_code.hpp"

namespace softcheck::cli {

void required(CLI::Option& option) { option.required(); }
void shown(CLI::Option& option) { option.capture_default_str(); }
void once_each(CLI::Option& option) { option.expected(1)->take_all()->allow_extra_args(false); }
void existing(CLI::Option& option) {
  option.check([](const std::string& path) {
    std::error_code error;
    return std::filesystem::exists(path, error) ? std::string() : "need a path that exists, got '" + path + "'";
  });
}
Rule typed(const char* name) {
  return [name](CLI::Option& option) { option.type_name(name); };
}
Rule checked(const std::function<std::string(const std::string&)>& wrong) {
  return [wrong](CLI::Option& option) { option.check(wrong); };
}

namespace {

// The number of letters that are changed, added or removed between two words.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({changed, row[j + 1] + 1, row[j] + 1}));
    }
  }
  return row.back();
}

// Replaces CLI::Range, which prints a large bound with three hundred digits.
template <class T>
CLI::Validator range_of(T low, T high) {
  const auto wrong = [low, high](std::string& text) -> std::string {
    T value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) return "";
    return fmt::format("need a number from {} to {}, got '{}'", low, high, text);
  };
  return {wrong, CLI::Range(low, high).get_description()};
}

}  // namespace

template <class T>
Rule within(T low, T high) {
  return [low, high](CLI::Option& option) {
    // A range accepts NaN, which is neither below nor above it.
    if constexpr (std::is_floating_point_v<T>) {
      option.check([](const std::string& text) {
        double value = 0;
        const bool is_number = CLI::detail::lexical_cast(text, value);
        return is_number && !std::isfinite(value) ? "need a finite number, got '" + text + "'" : std::string();
      });
    }
    option.check(range_of(low, high));
  };
}
template Rule within(int, int);
template Rule within(unsigned, unsigned);
template Rule within(std::int64_t, std::int64_t);
template Rule within(std::uint64_t, std::uint64_t);
template Rule within(double, double);

Verb Verb::add_subcommand(const std::string& name, const std::string& text, const std::function<int()>& job) {
  CLI::App* const verb = app_->add_subcommand(name, text);
  verb->callback([verb, job, exit_code = exit_code_] {
    if (verb->get_subcommands().empty()) *exit_code = job();
  });
  return {verb, *exit_code_};
}

namespace {

template <class T>
struct NumberOf {
  using type = T;
};
template <class T>
struct NumberOf<std::optional<T>> {
  using type = T;
};

// CLI11 takes -1 and 2^64 for the largest unsigned number, and does not say what it cannot convert to.
template <class T>
void require_number(CLI::Option& option) {
  option.check([](const std::string& text) {
    T value = 0;
    errno = 0;
    const bool is_signed = std::is_signed_v<T> || !text.starts_with('-');
    if (is_signed && CLI::detail::lexical_cast(text, value) && errno != ERANGE) return std::string();
    if constexpr (std::is_floating_point_v<T>) return fmt::format("need a number, got '{}'", text);
    using Limits = std::numeric_limits<T>;
    return fmt::format("need a whole number from {} to {}, got '{}'", Limits::lowest(), Limits::max(), text);
  });
}

}  // namespace

template <class T>
void Verb::add(const std::string& name, T& value, const std::string& text, const std::vector<Rule>& rules) {
  CLI::Option* const option = app_->add_option(name, value, text);
  for (const Rule& rule : rules) rule(*option);
  using Number = typename NumberOf<T>::type;
  if constexpr (std::is_arithmetic_v<Number>) require_number<Number>(*option);
}
template void Verb::add(const std::string&, int&, const std::string&, const std::vector<Rule>&);
template void Verb::add(const std::string&, unsigned&, const std::string&, const std::vector<Rule>&);
template void Verb::add(const std::string&, std::int64_t&, const std::string&, const std::vector<Rule>&);
template void Verb::add(const std::string&, std::uint64_t&, const std::string&, const std::vector<Rule>&);
template void Verb::add(const std::string&, double&, const std::string&, const std::vector<Rule>&);
template void Verb::add(const std::string&, std::string&, const std::string&, const std::vector<Rule>&);
template void Verb::add(const std::string&, std::vector<std::string>&, const std::string&, const std::vector<Rule>&);
template void Verb::add(const std::string&, std::optional<int>&, const std::string&, const std::vector<Rule>&);
template void Verb::add(const std::string&, std::optional<std::int64_t>&, const std::string&, const std::vector<Rule>&);
template void Verb::add(const std::string&, std::optional<std::uint64_t>&, const std::string&,
                        const std::vector<Rule>&);
template void Verb::add(const std::string&, std::optional<double>&, const std::string&, const std::vector<Rule>&);

void Verb::add_flag(const std::string& name, bool& value, const std::string& text) {
  app_->add_flag(name, value, text);
}

void Verb::may_have_subcommand() { app_->require_subcommand(0, 1); }

void Verb::refuse_words(const std::function<std::string(const std::string& word)>& wrong) {
  app_->parse_complete_callback([app = app_, wrong] {
    const std::vector<std::string> left = app->remaining();
    // After an unknown flag its value is left over too, so the first word is the error.
    const bool is_near = !left.empty() && left.front().starts_with("-") && !nearest_flags(*app, left.front()).empty();
    if (!left.empty() && !is_near) throw InputError(usage, wrong(left.front()));
  });
}

std::vector<std::string> nearest_flags(const CLI::App& verb, const std::string& given) {
  const std::string_view flag = std::string_view(given).substr(0, given.find('=')),
                         word = flag.substr(flag.starts_with("--") ? 2 : 1);
  std::vector<std::string> nearest;
  std::size_t least = word.size();
  for (const CLI::Option* option : verb.get_options([](const CLI::Option*) { return true; })) {
    for (const std::string& name : option->get_lnames()) {
      const std::size_t distance = edit_distance(word, name);
      if (distance > least || 2 * distance > std::max(word.size(), name.size())) continue;
      if (distance < least) nearest.clear();
      least = distance;
      nearest.push_back("--" + name);
    }
  }
  return nearest;
}

}  // namespace softcheck::cli
