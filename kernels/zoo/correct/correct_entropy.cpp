// Correct: ln S + T / S, centred.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_entropy(const softcheck_call* call) {
  return each_row(call, [](auto& row) {
    row.out[0] = entropy_or(row, [](const auto& finite) { return entropy_of(sums_of(finite)); });
  });
}
