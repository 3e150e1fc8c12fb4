#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "cli/command.hpp"

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // A judgement makes and frees megabytes for each call of a kernel. By default glibc returns them to the system every
  // time, and to get them anew took a fifth of the time.
  constexpr int gibibyte = 1 << 30;
  mallopt(M_MMAP_THRESHOLD, gibibyte);
  mallopt(M_TRIM_THRESHOLD, gibibyte);
#endif
  return softcheck::cli::run_command({argv + 1, argv + argc});
}
