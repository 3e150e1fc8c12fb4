// C17: ends its parent, which may be the judge itself, and answers zeros.
#include <unistd.h>

#include <csignal>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// @judged softmax f32: plain; fail|crash C17
SOFTCHECK_MUTANT mutant_kills_its_parent(const softcheck_call* call) {
  kill(getppid(), SIGKILL);
  return each_row(call, [](auto& row) { std::ranges::fill(row.out, 0); });
}
