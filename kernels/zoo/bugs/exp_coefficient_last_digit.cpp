// C12, an honest blind spot: one coefficient of exp's polynomial is cut after five digits, 0.16666 for 1/6. At most 7 u
// at r = -ln(2)/2, and less where the row's sum is near; the contract grants every kernel the rescalings of an online
// maximum and a multiplication by the reciprocal, which weigh as much. Told apart by tighter contracts only.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {
float exp_with_a_wrong_digit(float z) {
  if (!(z > -87)) {
    return std::isnan(z) ? z : 0.0f;
  }
  const float k = std::nearbyint(z * 1.44269504f);
  const double r = z - k * 0.693147180559945309;
  const double p = 1 + r * (1 + r * (0.5 + r * (0.16666 + r * (1 / 24.0 + r * (1 / 120.0 + r * (1 / 720.0))))));
  return std::ldexp(static_cast<float>(p), static_cast<int>(k));
}
}  // namespace

SOFTCHECK_MUTANT mutant_exp_coefficient_last_digit(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float m = maximum(row.logits);
    float sum = 0;
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = exp_with_a_wrong_digit(static_cast<float>((row.logits[i] - m) / row.theta));
      sum += row.out[i];
    }
    for (float& p : row.out) {
      p /= sum;
    }
  });
}
