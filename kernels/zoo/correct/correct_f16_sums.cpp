// Correct under contract acc=f16: exponentials and the sums of every 1024 of them are f16's, but those partial sums are
// added in f32, so that nothing overflows.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

float f16_block_sum(std::vector<float> parts) {
  while (parts.size() > 1) {
    std::vector<float> halved;
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) halved.push_back(rounded_to_f16(parts[i] + parts[i + 1]));
    if (parts.size() % 2 != 0) halved.push_back(parts.back());
    parts = halved;
  }
  return parts[0];
}

// Weights as f16 has them into out, their sum returned.
float sum_of_f16_blocks(const Row& row, float m, std::vector<float>& out) {
  constexpr std::size_t width = 1024;
  weights(row, m, out);
  for (float& w : out) w = rounded_to_f16(w);
  double total = 0;
  for (std::size_t i = 0; i < out.size(); i += width) {
    const auto first = out.begin() + static_cast<std::ptrdiff_t>(i);
    total += f16_block_sum({first, first + static_cast<std::ptrdiff_t>(std::min(width, out.size() - i))});
  }
  return static_cast<float>(total);
}

}  // namespace

SOFTCHECK_MUTANT correct_f16_sums(const softcheck_call* call) {
  return each_row(call, [](Row& row) { divide(row.out, sum_of_f16_blocks(row, maximum(row.logits), row.out)); });
}

SOFTCHECK_MUTANT correct_f16_logsumexp(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = logsumexp_or(row, [](const Row& finite) {
      const float m = maximum(finite.logits);
      std::vector<float> w(finite.logits.size());
      return static_cast<float>(m / finite.theta + std::log(sum_of_f16_blocks(finite, m, w)));
    });
  });
}
