// A kernel that ends itself while its grandchild, in a separate session, sleeps and keeps every descriptor open: the
// judge's channel never ends.
#include <unistd.h>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// @judged softmax f32: plain; crash isolation
SOFTCHECK_MUTANT mutant_leaves_a_daemon_behind(const softcheck_call*) {
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      for (;;) pause();
    }
  }
  _exit(0);
}
