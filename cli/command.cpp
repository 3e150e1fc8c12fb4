#include "cli/command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <new>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "cli/exit_code.hpp"
#include "cli/limits.hpp"
#include "cli/streams.hpp"
#include "cli/verbs.hpp"
#include "proptests/report.hpp"

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
  const std::string& words = app.get_name();
  const std::vector<CLI::App*> below = app.get_subcommands();
  return below.empty() ? words : words + " " + words_before_flags(*below.front());
}

// A name that a file brought may hold anything: one line of bounded length, and nothing that moves the reader's cursor.
std::string readable(std::string_view text) {
  constexpr std::size_t longest = 4000;
  return text.size() <= longest ? proptests::escaped_text(text)
                                : proptests::escaped_text(text.substr(0, longest)) + "...";
}

int told(const InputError& error) {
  complain("softcheck: {}\n", readable(error.what()));
  return error.code;
}

int run_verb(const std::vector<std::string>& arguments) {
  CLI::App app("softcheck: verify softmax attention - its theory, its kernels - by enclosures instead of tolerances",
               "softcheck");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 holds, 1 violated, 2 usage, 3 malformed input, 4 unsupported or refused, 5 vacuous or undecided, "
      "6 crashed, 7 timed out. Output that cannot be written turns 0 into 2.\n");
  int exit_code = 0;
  add_test_verb(Verb(&app), exit_code);
  add_kernel_verb(Verb(&app), exit_code);
  add_check_verb(Verb(&app), exit_code);
  add_model_verb(Verb(&app), exit_code);
  add_verify_verb(Verb(&app), exit_code);
  add_campaign_verb(Verb(&app), exit_code);
  add_run_verb(Verb(&app), exit_code);
  add_report_verb(Verb(&app), exit_code);
  add_version_verb(Verb(&app), exit_code);
  constexpr const char* verbs =
      "test, kernel, check, model, verify, campaign, run, report or version; softcheck VERB --help lists the flags";
  if (const char* verb = unknown_verb(app, arguments)) {
    complain("softcheck: need a verb out of {}, got '{}'\n", verbs, verb);
    return usage;
  }
  if (arguments.empty()) {
    complain("softcheck: need a verb out of {}\n", verbs);
    return usage;
  }
  try {
    require_stack();
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
  } catch (const CLI::ParseError& error) {
    // Help is an error to CLI11, of code 0.
    if (error.get_exit_code() == 0) {
      std::ostringstream help, nothing;
      const int code = app.exit(error, help, nothing);
      say_text(help.str());
      return code;
    }
    complain("softcheck: {} ({} --help lists the flags)\n", readable(error.what()), words_before_flags(app));
    return usage;
  } catch (const InputError& error) {
    return told(error);
  } catch (const std::system_error& error) {
    return told(limit_reached(error));
  } catch (const std::bad_alloc& error) {
    return told(limit_reached(error));
  } catch (const std::invalid_argument& error) {
    complain("softcheck: {}\n", readable(error.what()));
    return usage;
  } catch (const std::exception& error) {
    complain("softcheck: internal error: {}\n", error.what());
    return undecided;
  }
  return exit_code;
}

}  // namespace

int run_command(const std::vector<std::string>& arguments) {
  prepare_streams();
  const int code = run_verb(arguments);
  return code == holds && has_lost_output() ? usage : code;
}

}  // namespace softcheck::cli
