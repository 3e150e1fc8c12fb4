// `softcheck verify` as a separate program, which builds in half the time; `./run verify` runs it.
#include "cli/verbs.hpp"

int main(int argc, char** argv) {
  constexpr softcheck::cli::AddVerb verify[] = {softcheck::cli::add_verify_verb};
  return softcheck::cli::run_command({argv + 1, argv + argc}, verify);
}
