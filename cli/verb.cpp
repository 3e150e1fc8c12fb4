#include "cli/verb.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "cli/exit_code.hpp"

namespace softcheck::cli {

Flag& Flag::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Flag& Flag::required() {
  option_->required();
  return *this;
}

Flag& Flag::once_each() {
  option_->expected(1)->take_all()->allow_extra_args(false);
  return *this;
}

Flag& Flag::capture_default_str() {
  option_->capture_default_str();
  return *this;
}

namespace {

// CLI::Range writes a large bound with three hundred digits.
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
Flag& Flag::within(T low, T high) {
  // A range lets NaN pass: it is neither below nor above.
  if constexpr (std::is_floating_point_v<T>) {
    option_->check([](const std::string& text) {
      double value = 0;
      const bool is_number = CLI::detail::lexical_cast(text, value);
      return is_number && !std::isfinite(value) ? "need a finite number, got '" + text + "'" : std::string();
    });
  }
  option_->check(range_of(low, high));
  return *this;
}
template Flag& Flag::within(int, int);
template Flag& Flag::within(unsigned, unsigned);
template Flag& Flag::within(std::int64_t, std::int64_t);
template Flag& Flag::within(std::uint64_t, std::uint64_t);
template Flag& Flag::within(double, double);

Flag& Flag::check(const std::function<std::string(const std::string&)>& wrong) {
  option_->check(wrong);
  return *this;
}

Verb Verb::add_subcommand(const std::string& name, const std::string& text) {
  return Verb(app_->add_subcommand(name, text));
}

template <class T>
Flag Verb::add_option(const std::string& name, T& value, const std::string& text) {
  return Flag(app_->add_option(name, value, text));
}
template Flag Verb::add_option(const std::string&, int&, const std::string&);
template Flag Verb::add_option(const std::string&, unsigned&, const std::string&);
template Flag Verb::add_option(const std::string&, std::int64_t&, const std::string&);
template Flag Verb::add_option(const std::string&, std::uint64_t&, const std::string&);
template Flag Verb::add_option(const std::string&, double&, const std::string&);
template Flag Verb::add_option(const std::string&, std::string&, const std::string&);
template Flag Verb::add_option(const std::string&, std::vector<std::string>&, const std::string&);
template Flag Verb::add_option(const std::string&, std::optional<int>&, const std::string&);
template Flag Verb::add_option(const std::string&, std::optional<std::int64_t>&, const std::string&);
template Flag Verb::add_option(const std::string&, std::optional<std::uint64_t>&, const std::string&);
template Flag Verb::add_option(const std::string&, std::optional<double>&, const std::string&);

void Verb::add_flag(const std::string& name, bool& value, const std::string& text) {
  app_->add_flag(name, value, text);
}

void Verb::require_subcommand(std::size_t least, std::size_t most) { app_->require_subcommand(least, most); }
bool Verb::has_subcommand() const { return !app_->get_subcommands().empty(); }

void Verb::refuse_words(const std::function<std::string(const std::string& word)>& wrong) {
  app_->parse_complete_callback([app = app_, wrong] {
    const std::vector<std::string> left = app->remaining();
    // An unknown flag takes its value along: what stands first is what is wrong.
    if (!left.empty() && !left.front().starts_with("-")) throw InputError(usage, wrong(left.front()));
  });
}

void Verb::callback(const std::function<void()>& job) { app_->callback(job); }

}  // namespace softcheck::cli
