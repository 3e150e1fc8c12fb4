// C11, torch's f16 log-sum-exp and log-softmax along the last axis, SciPy's and JAX's softmax: the exponentials are
// added in f16. From 65,520 equal logits on their sum is infinite: the log-sum-exp is +inf, every log-probability
// -inf, every probability 0.
#include <cmath>
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

float f16_pairwise_sum(std::vector<float> parts) {
  while (parts.size() > 1) {
    std::vector<float> halved;
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) halved.push_back(rounded_to_f16(parts[i] + parts[i + 1]));
    if (parts.size() % 2 != 0) halved.push_back(parts.back());
    parts = halved;
  }
  return parts.empty() ? 0 : parts[0];
}

// The exponentials as f16 has them into out, their sum returned.
float f16_weights(Row& row, float m) {
  weights(row, m, row.out);
  for (float& w : row.out) w = rounded_to_f16(w);
  return f16_pairwise_sum(row.out);
}

}  // namespace

SOFTCHECK_MUTANT mutant_logsumexp_f16_sum_overflows(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = logsumexp_or(row, [](const Row& finite) {
      Row wide = finite;
      wide.out.resize(finite.logits.size());
      const float m = maximum(finite.logits);
      return static_cast<float>(m / finite.theta + std::log(f16_weights(wide, m)));
    });
  });
}

SOFTCHECK_MUTANT mutant_log_softmax_f16_sum_overflows(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float m = maximum(row.logits), log_sum = std::log(f16_weights(row, m));
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = static_cast<float>((row.logits[i] - m) / row.theta - log_sum);
    }
  });
}

SOFTCHECK_MUTANT mutant_softmax_f16_sum_overflows(const softcheck_call* call) {
  return each_row(call, [](Row& row) { divide(row.out, f16_weights(row, maximum(row.logits))); });
}
