#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace softcheck::cli {

// CLI11 takes about ten seconds to compile, so only verb.cpp and command.cpp include it. The names here are CLI11's.

/// A property of a flag or positional argument. Verb::add_option takes any number of them after the help text.
using Rule = std::function<void(CLI::Option& option)>;
void required(CLI::Option& option);
/// Help prints the flag's default value.
void shown(CLI::Option& option);
/// The flag takes one value each time that it is given: a list of values would swallow the argument after it.
void once_each(CLI::Option& option);
/// The value is a file or a folder that is there.
void existing(CLI::Option& option);
/// The name of the flag's values in help.
Rule typed(const char* name);
/// T   int, unsigned, std::int64_t, std::uint64_t or double
template <class T>
Rule within(T low, T high);
/// wrong   returns what is wrong with the text, or ""
Rule checked(const std::function<std::string(const std::string& text)>& wrong);

/// The command, one of its verbs, or a subcommand of a verb. The command owns the object that this points to.
class Verb {
 public:
  Verb(CLI::App* app, int& exit_code) : app_(app), exit_code_(&exit_code) {}
  /// Adds a verb below this one.
  ///
  /// Flags   a struct of its flags' values, which lives as long as the verb
  /// job     called with the values if this verb is given without a verb below it; returns the command's exit code
  template <class Flags, class Job>
  std::pair<Verb, Flags&> add_verb(const std::string& name, const std::string& text, Job job) {
    const auto flags = std::make_shared<Flags>();
    return {add_subcommand(name, text, [flags, job] { return job(*flags); }), *flags};
  }
  /// value   must live until the verb is done; verb.cpp instantiates the allowed T
  template <class T, class... Rules>
  void add_option(const std::string& name, T& value, const std::string& text, const Rules&... rules) {
    add(name, value, text, {rules...});
  }
  void add_flag(const std::string& name, bool& value, const std::string& text);
  /// Allows, but does not require, a subcommand.
  void may_have_subcommand();
  /// For a verb without positional arguments.
  ///
  /// wrong   the message for such an argument, and for an unknown flag that is similar to none of the verb's
  void refuse_words(const std::function<std::string(const std::string& word)>& wrong);

 private:
  Verb add_subcommand(const std::string& name, const std::string& text, const std::function<int()>& job);
  template <class T>
  void add(const std::string& name, T& value, const std::string& text, const std::vector<Rule>& rules);

  CLI::App* app_;
  int* exit_code_;
};

/// The flags of a verb that are most similar to given, at least half of each being equal.
std::vector<std::string> nearest_flags(const CLI::App& verb, const std::string& given);

}  // namespace softcheck::cli
