// C11, PyTorch #158310: weights and sum are kept with f16's 11 bits, where 2048 + 1 = 2048.
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

namespace {
// To 11 significant bits, to nearest even; the range stays that of f32, the bug is the precision.
float to_eleven_bits(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u);
}
}  // namespace

SOFTCHECK_MUTANT mutant_sum_in_f16(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float m = maximum(row.logits);
    weights(row, m, row.out);
    float sum = 0;
    for (const float w : row.out) {
      sum = to_eleven_bits(sum + to_eleven_bits(w));
    }
    for (float& p : row.out) {
      p = std::isfinite(m) ? p / sum : quiet_nan;
    }
  });
}
