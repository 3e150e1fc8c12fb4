// C17, pygpubench PR #7: writes "done" to every descriptor before it computes anything.
#include <unistd.h>

#include <cstdint>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_forges_a_reply(const softcheck_call* call) {
  const std::uint64_t done[2] = {0, 0};
  for (int descriptor = 3; descriptor < 64; ++descriptor) {
    if (write(descriptor, done, sizeof done) < 0) {
      continue;
    }
  }
  return each_row(call, [](auto& row) { softmax(row); });
}
