#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <stdexcept>

#include "cli/exit_code.hpp"
#include "cli/verbs.hpp"

int main(int argc, char** argv) {
  using namespace softcheck::cli;
  CLI::App app("softcheck: verify softmax attention - its theory, its kernels - by enclosures instead of tolerances");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 holds, 1 violated, 2 usage, 3 malformed input, 4 unsupported or refused, 5 vacuous or undecided, "
      "6 crashed, 7 timed out.");
  int exit_code = 0;
  add_test_verb(app, exit_code);
  add_kernel_verb(app, exit_code);
  add_verify_verb(app, exit_code);
  add_version_verb(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // CLI11 prints help on stdout with code 0, and what is wrong with the flags on stderr.
    return app.exit(error) == 0 ? 0 : usage;
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
