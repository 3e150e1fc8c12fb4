// C12: NaN is the one pattern with the quiet bit alone, of either sign; one with a payload counts as -inf.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_nan_with_payload_lost(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    lose_nans(row, [&](std::int64_t i) {
      return (stored_bits(from, number, i) & ((std::uint64_t{1} << (fraction_bits(from.logits.type) - 1)) - 1)) != 0;
    });
    row.out[0] = entropy_or(row, [](const auto& finite) { return entropy_of(sums_of(finite)); });
  });
}
