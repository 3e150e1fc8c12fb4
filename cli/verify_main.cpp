// `softcheck verify` in a program of its own, which takes half as long to build: what `./run verify` runs.
#include "cli/verbs.hpp"

int main(int argc, char** argv) {
  constexpr softcheck::cli::AddVerb verify[] = {softcheck::cli::add_verify_verb};
  return softcheck::cli::run_command({argv + 1, argv + argc}, verify);
}
