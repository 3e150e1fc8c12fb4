#pragma once

#include <cstddef>
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

// CLI11 itself takes some ten seconds a source: only verb.cpp and command.cpp include it. The names are its own.

/// What is said of a flag, or of an argument without one. Verb::add_option takes any number behind the help text.
using Rule = std::function<void(CLI::Option& option)>;
void required(CLI::Option& option);
/// Help prints the value that the flag has where it is not given.
void shown(CLI::Option& option);
/// The flag takes one value each time that it is given: a list of values would take the argument behind it.
void once_each(CLI::Option& option);
/// The name of its values in help.
Rule typed(const char* name);
/// T   int, unsigned, std::int64_t, std::uint64_t or double
template <class T>
Rule within(T low, T high);
/// wrong   says what is wrong with the text, "" when nothing is
Rule checked(const std::function<std::string(const std::string& text)>& wrong);

/// The command, one of its verbs, or a name below a verb: the command owns what this points to.
class Verb {
 public:
  Verb(CLI::App* app, int& exit_code) : app_(app), exit_code_(&exit_code) {}
  /// A verb below this one.
  ///
  /// Flags   a struct of its flags' values, which lives as long as the verb
  /// job     takes them when the verb is given, and none below it; returns the command's exit code
  template <class Flags, class Job>
  std::pair<Verb, Flags&> add_verb(const std::string& name, const std::string& text, Job job) {
    const auto flags = std::make_shared<Flags>();
    return {add_subcommand(name, text, [flags, job] { return job(*flags); }), *flags};
  }
  /// value   lives until the verb is done; T is one that verb.cpp instantiates
  template <class T, class... Rules>
  void add_option(const std::string& name, T& value, const std::string& text, const Rules&... rules) {
    add(name, value, text, {rules...});
  }
  void add_flag(const std::string& name, bool& value, const std::string& text);
  /// A name below the verb may stand behind it.
  void may_have_subcommand();
  /// For a verb that takes no words without a flag.
  ///
  /// wrong   what to say of such a word, and of an unknown flag that is near none of the verb's
  void refuse_words(const std::function<std::string(const std::string& word)>& wrong);

 private:
  Verb add_subcommand(const std::string& name, const std::string& text, const std::function<int()>& job);
  template <class T>
  void add(const std::string& name, T& value, const std::string& text, const std::vector<Rule>& rules);

  CLI::App* app_;
  int* exit_code_;
};

/// The names of a verb's flags that given may have been meant as: the nearest, of which at least half is the same.
std::vector<std::string> nearest_flags(const CLI::App& verb, const std::string& given);

}  // namespace softcheck::cli
