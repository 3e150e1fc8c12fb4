// C12: logits are compared as integers that keep their order, by which a negative NaN lies below -inf.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_nan_negative_lost(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    lose_nans(row, [&](std::int64_t i) { return (stored_bits(from, number, i) >> (from.logits.type.bits - 1)) != 0; });
    log_softmax(row);
  });
}
