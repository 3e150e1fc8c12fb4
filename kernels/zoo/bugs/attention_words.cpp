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
