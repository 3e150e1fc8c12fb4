// Bugs of kernels that declare a word of their own for what they compute.
#include <numbers>

#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

// The softcap's tanh comes from exponentials in bf16, and loses small scores.
// @judged attention f32: plain softcap=bf16; fail attributes; domain softcap
BUG(mutant_attention_softcap_of_stored_exponentials, attend_by_softcap) {
  const float power = rounded_to_bf16(std::exp(2 * static_cast<float>(x / row.softcap)));
  return row.softcap * static_cast<Real>(1 - 2 / (power + 1));
}

// Scores are cut off at the softcap.
// @judged attention f32: plain softcap=bf16; fail attributes; domain softcap
BUG(mutant_attention_softcap_cut_off, attend_by_softcap) { return std::clamp(x, -row.softcap, row.softcap); }

// Overflow: the product of query and key is stored in f16 before it is scaled, where 65536 is infinite.
// @judged attention f16: plain scores=f16; fail
BUG(mutant_attention_product_stored_before_scale, attend_changed_scores) {
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (x[j] != lowest<Real>) x[j] = row.scale * rounded_to_f16(static_cast<float>(x[j] / row.scale));
  }
}

// C11: weights times 2^9 saturate at 448, so the largest counts as 0.875.
// @judged attention e4m3 bf16: plain entropy=exact weights=e4m3:2^8; fail
BUG(mutant_attention_byte_weights_saturate, attend) {
  attend_stored_weights(row, [](float w) { return 0x1p-9F * rounded_to_byte(0, 0x1p9F * w); });
}

// C11: 8-bit weights are truncated.
// @judged attention e4m3 bf16: plain entropy=exact weights=e4m3:2^8; fail
BUG(mutant_attention_byte_weights_truncated, attend) {
  attend_stored_weights(row, [](float w) {
    const float near = 0x1p-8F * rounded_to_byte(0, 0x1p8F * w);
    return near > w ? 0x1p-8F * rounded_to_byte(0, 0x1p8F * w * (1 - 0x1p-4F)) : near;
  });
}

// C11: weights in e5m2, not e4m3.
// @judged attention bf16: plain entropy=exact weights=e4m3:2^8; fail
BUG(mutant_attention_byte_weights_in_e5m2, attend) {
  attend_stored_weights(row, [](float w) { return rounded_to_byte(1, w); });
}

// C11: without the factor 2^8 weights below 2^-10 are lost.
// @judged attention bf16: plain entropy=exact weights=e4m3:2^8; fail
BUG(mutant_attention_byte_weights_without_factor, attend) {
  attend_stored_weights(row, [](float w) { return rounded_to_byte(0, w); });
}

// C11: an online maximum that is raised only by more than 2 saturates weights times 2^8, as their scale has no room.
// @judged attention bf16: plain entropy=exact weights=e4m3:2^8; fail
BUG(mutant_attention_byte_weights_of_an_old_maximum, attend) {
  State<Real> s(row.out.size());
  for (std::size_t j = 0; j < row.items(); ++j) {
    const Real x = score(row, j);
    if (x == lowest<Real>) continue;
    if (s.maximum == lowest<Real> || x > s.maximum + 2) rescale(s, x);
    const auto w = static_cast<float>(std::exp(x - s.maximum));
    const auto stored = static_cast<Real>(0x1p-8F * rounded_to_byte(0, 0x1p8F * w));
    s.weights += w;
    s.deviations += w * (s.maximum - x);
    for (std::size_t c = 0; c < s.values.size(); ++c) s.values[c] += stored * row.values[j * s.values.size() + c];
  }
  finish(row, s);
}

// The sink is stored in 8 bits.
// @judged attention f32: plain sinks=bf16; fail attributes; domain sinks
BUG(mutant_attention_sink_in_8_bits, attend_changed_attributed_rows) {
  using namespace softcheck::kernels::arithmetic;
  if (row.sink) row.sink = byte_to_f32(byte_formats[0], f32_to_byte(byte_formats[0], static_cast<float>(*row.sink)));
}

// The sink is stored as the scores are: scaled.
// @judged attention f32: plain sinks=bf16; fail attributes; domain sinks
BUG(mutant_attention_stored_sink_scaled, attend_changed_attributed_rows) {
  if (row.sink) row.sink = static_cast<Real>(rounded_to_bf16(static_cast<float>(*row.sink * row.scale)));
}

// C2, flashinfer 4051: the maximum in base 2, the sum's logarithm in base e.
// @judged attention f32: plain lse=base2; fail C2; lse
BUG(mutant_attention_lse_of_two_bases, attend) {
  const std::vector<Real> x = scores(row);
  const Real m = largest(x);
  finish(row, accumulate(row, x, m));
  if (std::isfinite(m)) row.lse += m * (std::numbers::log2e_v<Real> - 1);
}

// C2: a log-sum-exp in base e.
// @judged attention f32: plain lse=base2; fail C2; lse
BUG(mutant_attention_natural_lse, attend) { attend_two_pass(row); }
