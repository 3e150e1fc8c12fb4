// exit: a daemon's habit, every descriptor closed: the judge's channel among them.
#include <unistd.h>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_closes_every_descriptor(const softcheck_call* call) {
  for (int descriptor = 0; descriptor < 64; ++descriptor) {
    close(descriptor);
  }
  return each_row(call, [](auto& row) { softmax(row); });
}
