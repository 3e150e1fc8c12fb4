#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <mpfi.h>
#include <mpfr.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "library/build_info.hpp"
#include "proptests/report/report.hpp"

#ifdef __GLIBC__
#endif

namespace softcheck::cli {
namespace {

// Twice the measured need of `softcheck model`, the verb that needs most: it crashes with 128 KiB and works with 512.
constexpr rlim_t least_stack = rlim_t{1} << 20;
// Linux's default.
constexpr rlim_t usual_stack = rlim_t{8} << 20;

struct LimitName {
  std::errc error;
  int resource;
  rlim_t unit;
  const char* text;
};

constexpr LimitName limit_names[] = {
    {std::errc::too_many_files_open, RLIMIT_NOFILE, 1, "this process may open {} (ulimit -n)"},
    {std::errc::not_enough_memory, RLIMIT_AS, 1024, "this process may have {} KiB of addresses (ulimit -v)"},
    {std::errc::resource_unavailable_try_again, RLIMIT_NPROC, 1, "this user may run {} processes (ulimit -u)"},
    {std::errc::file_too_large, RLIMIT_FSIZE, 1024, "this process may write {} KiB to a file (ulimit -f)"},
};

// "; this process may open 5 (ulimit -n)"; empty if no limit of the process explains the error.
std::string limit_behind(const std::error_code& code) {
  const auto* name = std::ranges::find_if(limit_names, [&](const LimitName& one) { return code == one.error; });
  rlimit limit{};
  if (name == std::end(limit_names) || getrlimit(static_cast<__rlimit_resource>(name->resource), &limit) != 0)
    return "";
  if (limit.rlim_cur == RLIM_INFINITY) return "";
  return "; " + fmt::format(fmt::runtime(name->text), limit.rlim_cur / name->unit);
}

// Raises this process's stack limit to the size that the verbs need, as far as the system allows. Throws InputError
// (unsupported) naming the limit, if the system allows too little.
void require_stack() {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= usual_stack) return;
  limit.rlim_cur = std::min(limit.rlim_max, usual_stack);
  if (setrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur >= least_stack) return;
  throw InputError(unsupported, fmt::format("need a stack of at least {} KiB, this process may have {} (ulimit -s)",
                                            least_stack / 1024, limit.rlim_cur / 1024));
}

// The error, with this process's limit that explains it, if there is one: "KernelChild: socketpair: Too many open
// files; this process may open 5 (ulimit -n)".
InputError limit_reached(const std::system_error& error) {
  return {unsupported, error.what() + limit_behind(error.code())};
}

InputError limit_reached(const std::bad_alloc&) {
  const std::error_code code = std::make_error_code(std::errc::not_enough_memory);
  return {unsupported, "out of memory" + limit_behind(code)};
}

std::vector<std::string> names_of_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(verb->get_name());
  }
  return names;
}

// "test, kernel or verify"
std::string alternatives(std::span<const std::string> names) {
  if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
  return fmt::format("{} or {}", fmt::join(names.first(names.size() - 1), ", "), names.back());
}

// "softcheck run train": the recognised verb and subcommand.
std::string words_before_flags(const CLI::App& app) {
  const std::string& words = app.get_name();
  const std::vector<CLI::App*> below = app.get_subcommands();
  return below.empty() ? words : words + " " + words_before_flags(*below.front());
}

// The error for an unknown subcommand such as "softcheck run nope", which lists those of run; empty if all words are
// known, or if the verb takes any words.
std::string unknown_name(const CLI::App& app) {
  const std::vector<CLI::App*> below = app.get_subcommands();
  if (!below.empty()) return unknown_name(*below.front());
  const bool takes_words = !app.get_options([](const CLI::Option* option) { return option->get_positional(); }).empty();
  const std::vector<std::string> left = app.remaining(), names = names_of_verbs(app);
  if (takes_words || names.empty() || left.empty() || left.front().starts_with("-")) return "";
  return fmt::format("{}: need {}, got '{}'", app.get_name(), alternatives(names), left.front());
}

// The error for an unknown flag, of the command or of the verb before it, with similar flags; empty if each flag is
// known.
//
// words   those that lead to app: "softcheck run"
std::string unknown_flag(const CLI::App& app, const std::string& words) {
  const std::vector<std::string> left = app.remaining();
  const auto flag = std::ranges::find_if(left, [](const std::string& word) { return word.starts_with("-"); });
  if (flag == left.end()) {
    const std::vector<CLI::App*> below = app.get_subcommands();
    return below.empty() ? "" : unknown_flag(*below.front(), words + " " + below.front()->get_name());
  }
  const bool is_verb = words.find(' ') != std::string::npos;
  const std::vector<std::string> nearest = nearest_flags(app, *flag);
  return fmt::format(
      "{}{}, got '{}' ({} --help lists the flags)",
      is_verb ? words.substr(words.find(' ') + 1) + ": need a flag of its own" : "need a verb before its flags",
      nearest.empty() ? "" : fmt::format(", as {}", alternatives(nearest)), flag->substr(0, flag->find('=')),
      is_verb ? words : words + " VERB");
}

// A message may quote names from a file: makes it one line of bounded length, without control characters.
std::string readable(std::string_view text) {
  constexpr std::size_t longest = 4000;
  return text.size() <= longest ? proptests::escaped_text(text)
                                : proptests::escaped_text(text.substr(0, longest)) + "...";
}

int print_error(const InputError& error) {
  complain("softcheck: {}\n", readable(error.what()));
  return error.code;
}

int run_verb(const std::vector<std::string>& arguments, std::span<const AddVerb> verbs) {
  CLI::App app("softcheck: verify softmax attention - its theory, its kernels - by enclosures instead of tolerances",
               "softcheck");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 holds, 1 violated, 2 usage, 3 malformed input, or a missing file of check, 4 unsupported or "
      "refused, 5 vacuous or undecided, 6 crashed, 7 timed out. Output that cannot be written turns 0 into 2.\n");
  int exit_code = 0;
  for (const AddVerb add : verbs) add(Verb(&app, exit_code));
  const std::vector<std::string> names = names_of_verbs(app);
  // CLI11 does not distinguish an unknown verb from a missing one.
  const bool unknown =
      !arguments.empty() && !arguments[0].starts_with("-") && std::ranges::find(names, arguments[0]) == names.end();
  if (arguments.empty() || unknown) {
    complain("softcheck: need a verb out of {}; softcheck VERB --help lists the flags{}\n", alternatives(names),
             unknown ? fmt::format(", got '{}'", arguments[0]) : "");
    return usage;
  }
  try {
    require_stack();
    std::vector<std::string> asked(arguments.rbegin(), arguments.rend());  // CLI11 reads them from the back
    if (asked == std::vector<std::string>{"--version"} && std::ranges::find(names, "version") != names.end()) {
      asked = {"version"};
    }
    app.parse(std::move(asked));
  } catch (const CLI::ParseError& error) {
    // CLI11 reports help as an error with code 0.
    if (error.get_exit_code() == 0) {
      std::ostringstream help, nothing;
      const int code = app.exit(error, help, nothing);
      say_text(help.str());
      return code;
    }
    // CLI11's own message is the last resort: for a mistyped flag it says that the right one is missing, or treats the
    // flag's value as an argument of the verb.
    const std::string name = unknown_name(app), flag = name.empty() ? unknown_flag(app, app.get_name()) : "";
    complain("softcheck: {}\n",
             readable(!flag.empty() ? flag
                                    : fmt::format("{} ({} --help lists the flags)", name.empty() ? error.what() : name,
                                                  words_before_flags(app))));
    return usage;
  } catch (const InputError& error) {
    return print_error(error);
  } catch (const std::system_error& error) {
    return print_error(limit_reached(error));
  } catch (const std::bad_alloc& error) {
    return print_error(limit_reached(error));
  } catch (const std::invalid_argument& error) {
    complain("softcheck: {}\n", readable(error.what()));
    return usage;
  } catch (const std::exception& error) {
    complain("softcheck: internal error: {}\n", error.what());
    return undecided;
  }
  return exit_code;
}

// A judgement allocates and frees megabytes for each call of a kernel. By default glibc returns them to the system each
// time; allocating them again took a fifth of the time.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int gibibyte = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, gibibyte);
  mallopt(M_TRIM_THRESHOLD, gibibyte);
#endif
}

}  // namespace

int run_command(const std::vector<std::string>& arguments, std::span<const AddVerb> verbs) {
  keep_freed_memory();
  prepare_streams();
  const int code = run_verb(arguments, verbs);
  return code == holds && has_lost_output() ? usage : code;
}

void add_version_verb(Verb app) {
  struct NoFlags {};
  app.add_verb<NoFlags>("version", "Print the version, the commit and the libraries that decide", [](const NoFlags&) {
    const BuildInfo& build = this_build();
    say("softcheck {} (commit {}, {}, {})\n", build.version, build.commit, build.compiler, build.build_type);
    say("enclosures: MPFI {}, MPFR {}\n", mpfi_get_version(), mpfr_get_version());
    say("second oracle: {}\n", build.arb ? "Arb" : "absent (Arb was not found at build time)");
    return holds;
  });
}

}  // namespace softcheck::cli
