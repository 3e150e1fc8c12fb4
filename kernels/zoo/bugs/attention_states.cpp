// Bugs of attention: log-sum-exps and merged states.
#include "kernels/zoo/attention_states.hpp"

#include <numbers>

using namespace softcheck::kernels::zoo::attention;

// C2 for the adaptive temperature: beta from the entropy of the last block of 8 keys.
// @judged adaptive_attention f32: plain entropy=exact; fail C2; witness 9
BUG(mutant_attention_adaptive_beta_of_last_block, attend) {
  const std::size_t n = row.items(), last = n > 0 ? (n - 1) / 8 * 8 : 0;
  const Real beta = beta_of(entropy_of(online(row, last, n)));
  finish(row, online(row, 0, n, beta), beta);
}

// C2, vLLM #28181 and #52796: the log-sum-exp is to base 2.
// @judged attention f32 bf16: plain entropy=exact; fail C2; lse
BUG(mutant_attention_lse_base_2, attend) {
  attend_two_pass(row);
  row.lse *= static_cast<Real>(std::numbers::log2e);
}

// C2: with more than 2048 keys the log-sum-exp is that of the first part.
// @judged attention f32: plain entropy=exact; fail C2; EveryPairOfClassesIsComputed; witness 2049
BUG(mutant_attention_lse_beyond_2048_keys, attend_changed_results) {
  if (row.items() <= 2048) return;
  Row<Real> first = row;
  first.visible.resize(2048);
  attend_two_pass(first);
  row.lse = first.lse;
}

// C2, C13: T is multiplied by a where a (T + d S) is right.
// @judged attention f32: plain entropy=exact; fail C2; entropy
BUG(mutant_attention_merge_forgets_deviations, attend) {
  State<Real> left = online(row, 0, row.items() / 2);
  State<Real> right = online(row, row.items() / 2, row.items());
  if (left.weights != 0 && right.weights != 0) {
    State<Real>& lower = left.maximum < right.maximum ? left : right;
    lower.deviations -= std::fabs(left.maximum - right.maximum) * lower.weights;  // merged() adds it
  }
  finish(row, merged(left, right));
}

// C2, the class of vLLM #49294: in the merge of four parts every part is weighted by the maximum of part 0.
// @judged attention f64: plain entropy=exact; fail C2
BUG(mutant_attention_merge_index_zero, attend) {
  const std::size_t n = row.items();
  std::vector<State<Real>> parts;
  for (std::size_t k = 0; k < 4; ++k) parts.push_back(online(row, k * n / 4, (k + 1) * n / 4));
  State<Real> all = parts[0];
  for (std::size_t k = 1; k < 4; ++k) {
    if (parts[k].weights != 0 && all.weights != 0) parts[k].maximum = parts[0].maximum;
    all = merged(all, parts[k]);
  }
  finish(row, all);
}

// C2, FlashInfer #4051: a merge with a part that saw no key takes (-inf) - (-inf) for a difference of maxima.
// @judged attention f16: plain entropy=exact; fail C2
BUG(mutant_attention_merge_of_empty_part, attend) {
  const std::size_t n = row.items();
  State<Real> all(row.out.size());
  for (std::size_t k = 0; k < 4; ++k) {
    State<Real> part = online(row, k * n / 4, (k + 1) * n / 4);
    const Real m = std::max(all.maximum, part.maximum);
    all.weights *= std::exp(all.maximum - m);  // NaN while both are without keys
    for (Real& value : all.values) value *= std::exp(all.maximum - m);
    all.deviations =
        all.weights == 0 ? 0 : std::exp(all.maximum - m) * all.deviations + (m - all.maximum) * all.weights;
    all.maximum = m;
    all = merged(all, part);
  }
  finish(row, all);
}

// C2, the class of sglang #35045: the states of two halves are added as if they had one maximum.
// @judged attention f32: plain entropy=exact; fail C2
BUG(mutant_attention_merge_without_rescale, attend) {
  State<Real> left = online(row, 0, row.items() / 2);
  State<Real> right = online(row, row.items() / 2, row.items());
  if (left.weights != 0 && right.weights != 0) {
    left.maximum = right.maximum = std::max(left.maximum, right.maximum);
  }
  finish(row, merged(left, right));
}
