// C11, ik_llama #1196: the sum is kept in bf16, where 256 + 1 = 256.
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

namespace {
float to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return std::bit_cast<float>((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}
}  // namespace

SOFTCHECK_MUTANT mutant_sum_in_bf16(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float m = maximum(row.logits);
    weights(row, m, row.out);
    float sum = 0;
    for (const float w : row.out) {
      sum = to_bf16(sum + w);
    }
    for (float& p : row.out) {
      p = std::isfinite(m) ? p / sum : quiet_nan;
    }
  });
}
