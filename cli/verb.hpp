#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace softcheck::cli {

// CLI11 itself takes some ten seconds a source: only verb.cpp and command.cpp include it. The names are its own.

/// A flag, or an argument without one.
class Flag {
 public:
  explicit Flag(CLI::Option* option) : option_(option) {}
  Flag& type_name(const std::string& name);
  Flag& required();
  Flag& capture_default_str();
  /// The flag takes one value each time that it is given: a list of values would take the argument behind it.
  Flag& once_each();
  /// T   int, std::int64_t, std::uint64_t or double
  template <class T>
  Flag& within(T low, T high);
  /// wrong   says what is wrong with the text, "" when nothing is
  Flag& check(const std::function<std::string(const std::string&)>& wrong);

 private:
  CLI::Option* option_;
};

/// The command, one of its verbs, or a name below a verb: the command owns what this points to.
class Verb {
 public:
  explicit Verb(CLI::App* app) : app_(app) {}
  Verb add_subcommand(const std::string& name, const std::string& text);
  /// value   lives until the verb is done; T is one that verb.cpp instantiates
  template <class T>
  Flag add_option(const std::string& name, T& value, const std::string& text);
  void add_flag(const std::string& name, bool& value, const std::string& text);
  void require_subcommand(std::size_t least, std::size_t most);
  bool has_subcommand() const;
  /// For a verb that takes no words without a flag.
  ///
  /// wrong   what to say of such a word, and of an unknown flag that is near none of the verb's
  void refuse_words(const std::function<std::string(const std::string& word)>& wrong);
  void callback(const std::function<void()>& job);

 private:
  CLI::App* app_;
};

/// The names of a verb's flags that given may have been meant as: the nearest, of which at least half is the same.
std::vector<std::string> nearest_flags(const CLI::App& verb, const std::string& given);

}  // namespace softcheck::cli
