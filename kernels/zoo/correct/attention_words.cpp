// Correct kernels whose arithmetic needs a word of its own.
#include <numbers>
#include <utility>

#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

// Gpt-oss: scores and sinks are stored in bf16, and so are their differences from the maximum.
// @judged attention bf16: plain scores=bf16 sinks=bf16 differences=bf16; pass; domain sinks
// @judged attention bf16: plain scores=bf16 sinks=bf16; fail C11; output|lse; domain sinks
CORRECT(attention_correct_differences_stored, attend_attributed) {
  const auto bf16 = [](Real x) { return static_cast<Real>(rounded_to_bf16(static_cast<float>(x))); };
  std::vector<Real> x = scores_by(row, usual_score);
  for (Real& one : x) one = bf16(one);
  if (row.sink) row.sink = bf16(*row.sink);
  Real m = largest(x);
  if (row.sink && !std::isnan(m)) m = std::max(m, *row.sink);
  if (m == lowest<Real>) return finish_attributed(row, x);
  for (Real& one : x) one = bf16(one - m);
  if (row.sink) row.sink = bf16(*row.sink - m);
  finish_attributed(row, x);
  row.lse += m;
}

// Gemma 2's eager attention: quotient, tanh and product of the softcap are stored in bf16 each.
// @judged attention bf16 f32: plain softcap=bf16; pass; domain softcap
// @judged attention f32: plain; fail attributes; domain softcap
CORRECT(attention_correct_softcap_stored, attend_by_softcap) {
  const auto bf16 = [](Real y) { return static_cast<Real>(rounded_to_bf16(static_cast<float>(y))); };
  return bf16(row.softcap * bf16(std::tanh(bf16(x / row.softcap))));
}

// Sinks in the model's own bf16.
// @judged attention f32: plain sinks=bf16; pass; domain sinks
// @judged attention f32: plain; fail attributes; domain sinks
CORRECT(attention_correct_sinks_stored, attend_changed_attributed_rows) {
  if (row.sink) row.sink = static_cast<Real>(rounded_to_bf16(static_cast<float>(*row.sink)));
}

// @judged attention f32 f16: plain lse=base2; pass
// @judged attention f32: plain; fail C2; lse
CORRECT(attention_correct_base2_lse, attend_changed_results) { row.lse *= std::numbers::log2e_v<Real>; }

// A dropout as a factor of the values.
// @judged attention f32 f64 f16 bf16 8bits: plain; pass; domain dropout
// @judged attention f32: plain; pass; domain dropout sinks window causal=either
CORRECT(attention_correct_dropout_of_values, attend_changed) {}

// A dropout of the normalised weights, as eager attention has it.
// @judged attention f32 bf16: plain; pass; domain dropout
CORRECT(attention_correct_dropout_of_weights, attend_changed_weights) {
  for (std::size_t j = 0; j < p.size(); ++j) p[j] *= dropout_factor(row, j);
}

// FlashAttention: dropped keys have no value, and the scale multiplies the output.
// @judged attention f32 f16: plain; pass; domain dropout
CORRECT(attention_correct_dropout_scales_last, attend_attributed) {
  const Real scale = std::exchange(row.dropout_scale, Real(1));
  drop(row);
  finish_attributed(row, scores_by(row, usual_score));
  for (Real& x : row.out) x *= row.kept.empty() ? 1 : scale;
}

// F32 queries over a cache of 16 bits, as calm and yalm have it.
// @judged attention f32: plain entropy=exact; pass; domain cache=f16
// @judged attention f32: plain entropy=exact; pass; domain cache=bf16 nocausal
// @judged attention bf16: plain entropy=exact; pass; domain cache=e4m3
CORRECT(attention_correct_cached, attend) { attend_two_pass(row); }
