// Correct kernels of the divergence of two rows of logits and its gradient.
#include "kernels/zoo/divergence_rows.hpp"

using namespace softcheck::kernels::zoo;

// sum w (ln w - ln v), from both log-softmaxes.
// @judged kl_divergence f32 f64 f16 bf16 8bits: plain; pass
// @judged kl_divergence f32: plain theta=before; pass; domain temperature
CORRECT(correct_kl_divergence, each_divergence) { put_divergence(row); }

// From the last class to the first, with weights over their sum.
// @judged kl_divergence f32: plain; pass
CORRECT(correct_kl_divergence_of_quotients, each_divergence) {
  const auto& w = row.weighing();
  const auto a = logarithms_of(w), b = logarithms_of(row.other());
  const auto m = *std::max_element(w.begin(), w.end());
  auto s = Real(0), sum = Real(0);
  for (const auto x : w) s += std::exp(x - m);
  for (std::size_t j = w.size(); j-- > 0;) {
    const auto p = std::exp(w[j] - m) / s;
    if (p != 0) sum += p * (a[j] - b[j]);
  }
  row.out[0] = sum;
}

// Upstream (p - q), or upstream p (ln p - ln q - K).
// @judged kl_divergence_backward f32 f64 f16 bf16 8bits: plain; pass
// @judged kl_divergence_backward f32: plain theta=before; pass; domain temperature
CORRECT(correct_kl_divergence_backward, each_divergence_gradient) { put_divergence_gradient(row); }

// As automatic differentiation has the reverse one: the gradient by the log-probabilities, p (ln p - ln q + 1), and
// then log-softmax's own; the forward one with upstream in each term.
// @judged kl_divergence_backward f32: plain; pass
CORRECT(correct_kl_divergence_backward_of_terms, each_divergence_gradient) {
  const auto p = logarithms_of(row.x), q = logarithms_of(row.t);
  auto total = Real(0);
  const auto by_logarithm = [&](std::size_t j) {
    const auto e = std::exp(p[j]);
    return std::isinf(p[j]) ? e : e * (p[j] - q[j] + 1);
  };
  for (std::size_t j = 0; j < p.size(); ++j) total += by_logarithm(j);
  for (std::size_t j = 0; j < p.size(); ++j) {
    row.out[j] = row.reverse ? row.upstream * (by_logarithm(j) - std::exp(p[j]) * total)
                             : row.upstream * std::exp(p[j]) - row.upstream * std::exp(q[j]);
  }
}
