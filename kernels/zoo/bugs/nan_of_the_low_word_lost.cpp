// C12, the class of glibc's tests of a high word: a NaN of f64 is told by its upper 32 bits; one with a payload in the
// lower ones alone counts as -inf.
#include "kernels/zoo/numbered_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_nan_of_the_low_word_lost(const softcheck_call* call) {
  return each_numbered_row(call, [](const Matrices& from, std::int64_t number, auto& row) {
    lose_nans(row, [&](std::int64_t i) { return (stored_bits(from, number, i) >> 32 & 0xfffff) == 0; });
    softmax(row);
  });
}
