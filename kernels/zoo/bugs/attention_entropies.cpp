// Bugs of attention: entropies.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// C13: an entropy that is too small by a part of the error that a long sum may have: negative for a sharp query.
// @judged attention f32: plain; fail C13; entropy
BUG(mutant_attention_entropy_below_zero, attend) {
  attend_two_pass(row);
  const auto visible = std::count_if(row.visible.begin(), row.visible.end(), [](auto seen) { return seen != 0; });
  row.entropy -= static_cast<Real>(std::ldexp(static_cast<double>(visible), -26));
}

// C13, PyTorch #40553: sum p ln p.
// @judged attention f16: plain entropy=exact; fail C13; entropy
BUG(mutant_attention_entropy_negated, attend_changed_results) { row.entropy = -row.entropy; }

// C13, FlashAttention PR #2359: entropy as lse - sum w x / S, where the scores' size cancels.
// @judged attention f32: plain entropy=exact; fail C13; entropy
BUG(mutant_attention_entropy_uncentred, attend_changed_results) {
  const auto x = scores(row);
  const Real m = largest(x);
  Real sum = 0, weighted = 0;
  for (const Real value : x) {
    if (value == lowest<Real>) continue;
    sum += std::exp(value - m);
    weighted += std::exp(value - m) * value;
  }
  if (sum != 0) row.entropy = row.lse - weighted / sum;
}

// C13, C2: online, where the maximum rises S and O are rescaled and T is not.
// @judged attention bf16: plain entropy=exact; fail C13; entropy
BUG(mutant_attention_entropy_unrescaled, attend) {
  State<Real> s(row.out.size());
  for (std::size_t j = 0; j < row.items(); ++j) {
    const Real deviations = s.deviations, x = score(row, j);
    if (x > s.maximum) {
      rescale(s, x);
      s.deviations = deviations;
    }
    absorb(s, row, j, x);
  }
  finish(row, s);
}

// C13, the paper's own code, AST #17 with 1e-8: -sum p ln(p + 1e-8), although the contract promises the exact entropy.
// @judged attention f64: plain entropy=exact; fail C13; entropy
BUG(mutant_attention_entropy_with_epsilon, attend_changed_results) {
  if (row.lse == lowest<Real>) return;
  row.entropy = 0;
  for (const Real x : scores(row)) {
    const Real p = std::exp(x - row.lse);
    row.entropy -= p * std::log(p + Real(1e-8));
  }
}
