// A kernel that leaves its process group before it sleeps: a judge that only ends the group by its number waits for
// ever.
#include <sys/types.h>
#include <unistd.h>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// @judged softmax f32: plain; timeout isolation
SOFTCHECK_MUTANT mutant_leaves_its_process_group(const softcheck_call*) {
  const pid_t companion = fork();
  if (companion == 0) {
    for (;;) pause();
  }
  setpgid(companion, companion);
  setpgid(0, companion);
  for (;;) pause();
}
