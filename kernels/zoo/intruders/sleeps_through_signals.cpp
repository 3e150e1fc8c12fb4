// A kernel that blocks every signal, starts a child that does the same, and never returns.
#include <unistd.h>

#include <csignal>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// @judged softmax f32: plain; timeout isolation
SOFTCHECK_MUTANT mutant_sleeps_through_signals(const softcheck_call*) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  if (fork() == 0) setsid();
  for (;;) pause();
}
