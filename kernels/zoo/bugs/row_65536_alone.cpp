// C6, PyTorch #191565 narrowed down: one past what 16 bits hold, and no other row, is normalised by twice its sum.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_row_65536_alone(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& /*from*/, std::int64_t number, auto& row) {
    softmax(row);
    for (auto& p : row.out) {
      p /= number == 65536 ? 2 : 1;
    }
  });
}
