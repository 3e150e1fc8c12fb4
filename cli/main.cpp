#include "cli/verbs.hpp"

int main(int argc, char** argv) {
  return softcheck::cli::run_command({argv + 1, argv + argc}, softcheck::cli::every_verb);
}
