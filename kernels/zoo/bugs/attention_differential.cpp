// Bugs of differential attention: lambda, and one map in the place of the other.
#include <algorithm>

#include "kernels/zoo/differential_attention.hpp"

using namespace softcheck::kernels::zoo::attention;

// Lambda is forgotten: the difference of the two outputs.
// @judged differential_attention f32 bf16: plain; fail C10
BUG(mutant_differential_attention_no_lambda, attend_differential) { subtract_maps(row, Real(1)); }

// Lambda multiplies the scores of the second map, not its softmax.
// @judged differential_attention f32: plain; fail C10
BUG(mutant_differential_attention_lambda_of_scores, attend_differential) {
  row.second.scale *= row.lambda();
  subtract_maps(row, Real(1));
}

// Every head has the lambda of the first one.
// @judged differential_attention f32: plain; fail C10
BUG(mutant_differential_attention_lambda_of_first_head, attend_differential) { subtract_maps(row, row.lambdas[0]); }

// Lambda is stored in bf16.
// @judged differential_attention f32: plain; fail C11
BUG(mutant_differential_attention_lambda_in_bf16, attend_differential) {
  subtract_maps(row, static_cast<Real>(rounded_to_bf16(static_cast<float>(row.lambda()))));
}

// Lambda is clamped to [0, 1].
// @judged differential_attention f32: plain; fail C10
BUG(mutant_differential_attention_lambda_clamped, attend_differential) {
  subtract_maps(row, std::clamp(row.lambda(), Real(0), Real(1)));
}

// Both maps subtract the larger maximum of the two, so that the weights of the other map underflow.
// @judged differential_attention f32: plain; fail C4
BUG(mutant_differential_attention_shared_maximum, attend_differential) {
  const std::vector<Real> x = scores_by(row.first, usual_score), y = scores_by(row.second, usual_score);
  const Real m = std::max(largest(x), largest(y));
  finish<Real>(row.second, accumulate<Real>(row.second, y, m));
  finish<Real>(row.first, accumulate<Real>(row.first, x, m));
  for (std::size_t c = 0; c < row.out().size(); ++c) row.out()[c] -= row.lambda() * row.second.out[c];
}

// The second map sees all keys.
// @judged differential_attention f32: plain; fail C1
BUG(mutant_differential_attention_second_mask_forgotten, attend_differential) {
  row.second.visible.assign(row.second.items(), 1);
  subtract_maps(row);
}

// The scale is applied to the first map alone.
// @judged differential_attention f32 f16: plain; fail C10
BUG(mutant_differential_attention_scale_of_one_map, attend_differential) {
  row.second.scale = 1;
  subtract_maps(row);
}

// The second map's queries meet the first one's keys.
// @judged differential_attention f32: plain; fail C10
BUG(mutant_differential_attention_keys_of_first_map, attend_differential) {
  row.second.keys = row.first.keys;
  subtract_maps(row);
}

// The maps are exchanged.
// @judged differential_attention f32: plain; fail C10
BUG(mutant_differential_attention_maps_exchanged, attend_differential) {
  std::swap(row.first.query, row.second.query);
  std::swap(row.first.keys, row.second.keys);
  subtract_maps(row);
}

// The differences of the weights are divided by their sum, 1 - lambda.
// @judged differential_attention f32: plain; fail C10
BUG(mutant_differential_attention_normalised, attend_differential) {
  subtract_maps(row);
  for (Real& out : row.out()) out /= 1 - row.lambda();
}

// Differences of weights below 0 are cut off.
// @judged differential_attention f32: plain; fail C10
BUG(mutant_differential_attention_cut_at_zero, attend_differential) {
  add_differences(row, [&](Real p, Real other) { return std::max(p - row.lambda() * other, Real(0)); });
}

// The softcap of the second map is forgotten.
// @judged differential_attention f32: plain; fail attributes; domain softcap
BUG(mutant_differential_attention_softcap_of_one_map, attend_differential) {
  row.second.softcap = 0;
  subtract_maps(row);
}

// The index of lambda has three bits.
// @judged differential_attention f32: plain; fail C6; EveryPairOfClassesIsComputed|EveryValueLiesWithinItsThreshold
BUG(mutant_differential_attention_lambda_of_head_modulo_8, attend_differential) {
  subtract_maps(row, row.lambdas[row.head % 8]);
}
