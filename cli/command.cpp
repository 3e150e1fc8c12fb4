#include "cli/command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "cli/exit_code.hpp"
#include "cli/verbs.hpp"

namespace softcheck::cli {
namespace {

// CLI11 tells no unknown verb from a missing one.
const char* unknown_verb(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0].starts_with("-")) return nullptr;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (verb->get_name() == arguments[0]) return nullptr;
  }
  return arguments[0].c_str();
}

// "softcheck run train": the verb that was given and the name below it, as far as they were understood.
std::string words_before_flags(const CLI::App& app) {
  std::string words = app.get_name();
  const std::vector<CLI::App*> below = app.get_subcommands();
  return below.empty() ? words : words + " " + words_before_flags(*below.front());
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  CLI::App app("softcheck: verify softmax attention - its theory, its kernels - by enclosures instead of tolerances",
               "softcheck");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 holds, 1 violated, 2 usage, 3 malformed input, 4 unsupported or refused, 5 vacuous or undecided, "
      "6 crashed, 7 timed out.\n");
  int exit_code = 0;
  add_test_verb(Verb(&app), exit_code);
  add_kernel_verb(Verb(&app), exit_code);
  add_model_verb(Verb(&app), exit_code);
  add_verify_verb(Verb(&app), exit_code);
  add_run_verb(Verb(&app), exit_code);
  add_report_verb(Verb(&app), exit_code);
  add_version_verb(Verb(&app), exit_code);
  constexpr const char* verbs =
      "test, kernel, model, verify, run, report or version; softcheck VERB --help lists the flags";
  if (const char* verb = unknown_verb(app, arguments)) {
    fmt::print(stderr, "softcheck: need a verb out of {}, got '{}'\n", verbs, verb);
    return usage;
  }
  if (arguments.empty()) {
    fmt::print(stderr, "softcheck: need a verb out of {}\n", verbs);
    return usage;
  }
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
  } catch (const CLI::ParseError& error) {
    // Help is an error to CLI11, of code 0.
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "softcheck: {} ({} --help lists the flags)\n", error.what(), words_before_flags(app));
    return usage;
  } catch (const InputError& error) {
    fmt::print(stderr, "softcheck: {}\n", error.what());
    return error.code;
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "softcheck: {}\n", error.what());
    return usage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "softcheck: internal error: {}\n", error.what());
    return undecided;
  }
  return exit_code;
}

}  // namespace softcheck::cli
