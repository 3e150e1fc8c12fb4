// A traceback on stderr, in colours and with a bell, before the process ends: what a plug-in that holds an interpreter
// does.
#include <cstdio>
#include <cstdlib>

#include "kernels/zoo/reference_rows.hpp"

SOFTCHECK_MUTANT mutant_explains_its_death(const softcheck_call*) {
  for (int frame = 0; frame < 20; ++frame) std::fprintf(stderr, "  File \"kernel.py\", line %d\n", frame);
  std::fputs("\033[31mValueError: expected row \a\n", stderr);
  std::fflush(stderr);
  std::abort();
}
