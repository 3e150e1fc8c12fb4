// C8, colibri #1098: not wrong, but two runs differ in their last bits, as with atomics.
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_nondeterministic(const softcheck_call* call) {
  static unsigned calls = 0;
  ++calls;
  return each_row(call, [](Row& row) {
    weights(row, maximum(row.logits), row.out);
    float sum = 0;
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      sum += row.out[(i + calls) % row.out.size()];
    }
    for (float& p : row.out) {
      p /= sum;
    }
  });
}
