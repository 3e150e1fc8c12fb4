// Bugs of rows: how a call ends.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// An assertion inside the kernel fails.
// @judged softmax f32: plain; crash exit
SOFTCHECK_MUTANT mutant_aborts(const softcheck_call* call) {
  each_row(call, [](auto& row) { softmax(row); });
  std::abort();
}

// A daemon's habit, every descriptor closed: the judge's channel among them.
// @judged softmax f32: plain; crash exit
SOFTCHECK_MUTANT mutant_closes_every_descriptor(const softcheck_call* call) {
  for (int descriptor = 0; descriptor < 64; ++descriptor) close(descriptor);
  return each_row(call, [](auto& row) { softmax(row); });
}

// A traceback on stderr, in colours and with a bell, before the process ends, as from a plug-in that runs an
// interpreter.
// @judged softmax f32: plain; crash exit
SOFTCHECK_MUTANT mutant_explains_its_death(const softcheck_call*) {
  for (int frame = 0; frame < 20; ++frame) std::fprintf(stderr, "  File \"kernel.py\", line %d\n", frame);
  std::fputs("\033[31mValueError: expected row \a\n", stderr);
  std::fflush(stderr);
  std::abort();
}

// The process ends with success in the middle of a call.
// @judged softmax f32: plain; crash exit
SOFTCHECK_MUTANT mutant_exits_zero(const softcheck_call* call) {
  each_row(call, [](auto& row) { softmax(row); });
  std::_Exit(0);
}

// An exception crosses the C boundary.
// @judged softmax f32: plain; crash exit
SOFTCHECK_MUTANT mutant_throws(const softcheck_call* call) {
  if (call->abi_version == SOFTCHECK_KERNEL_ABI_VERSION) throw std::runtime_error("mutant_throws");
  return 1;
}
