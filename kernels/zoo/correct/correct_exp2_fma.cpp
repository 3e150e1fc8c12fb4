// Correct: 2^((x - m) log2(e) / theta), split by fma into a whole number and a rest.
// x - m and log2(e) / theta round once each: A = 2; the rest, at most 1/2, adds 0.35 u: E = 3.
#include <cmath>
#include <cstddef>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT correct_exp2_fma(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float m = maximum(row.logits);
    const float scale = static_cast<float>(1.4426950408889634 / row.theta);
    const auto power = [scale](float d) {
      const float z = d * scale;
      if (!(z > -160)) {  // below half the smallest number of f32, or NaN
        return std::isnan(z) ? z : 0.0f;
      }
      const float whole = std::nearbyint(z);
      return std::ldexp(std::exp2(std::fma(d, scale, -whole)), static_cast<int>(whole));
    };
    float sum = 0;
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = power(row.logits[i] - m);
      sum += row.out[i];
    }
    divide(row.out, sum);
  });
}
