// C12: NaN is what has the quiet bit; a signalling one counts as -inf.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_nan_signalling_lost(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    lose_nans(row, [&](std::int64_t i) {
      return (stored_bits(from, number, i) >> (fraction_bits(from.logits.type) - 1) & 1) == 0;
    });
    softmax(row);
  });
}
