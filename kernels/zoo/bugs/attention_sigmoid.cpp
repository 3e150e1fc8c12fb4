// Bugs of sigmoid attention.
#include <algorithm>

#include "kernels/zoo/sigmoid_attention.hpp"

using namespace softcheck::kernels::zoo::attention;

// The bias is forgotten.
// @judged sigmoid_attention f32 bf16: plain; fail C10
BUG(mutant_sigmoid_attention_no_bias, attend_changed_sigmoid_rows) { row.sigmoid_bias = 0; }

// The bias is -log of the keys that the query sees.
// @judged sigmoid_attention f32: plain; fail C1; domain sigmoid_bias=-ln(keys)
BUG(mutant_sigmoid_attention_bias_of_visible_keys, attend_changed_sigmoid_rows) {
  row.sigmoid_bias = -std::log(static_cast<Real>(std::max<std::ptrdiff_t>(std::ranges::count(row.visible, 1), 1)));
}

// The bias is -log of the keys with their padding to tiles of 16.
// @judged sigmoid_attention f32: plain; fail C5; domain sigmoid_bias=-ln(keys)
BUG(mutant_sigmoid_attention_bias_of_padded_keys, attend_changed_sigmoid_rows) {
  row.sigmoid_bias = -std::log(static_cast<Real>((row.items() + 15) / 16 * 16));
}

// The bias is added before the scale.
// @judged sigmoid_attention f32: plain; fail C10
BUG(mutant_sigmoid_attention_bias_scaled, attend_changed_sigmoid_rows) { row.sigmoid_bias *= row.scale; }

// The bias is added before the softcap.
// @judged sigmoid_attention f32: plain; fail attributes; domain softcap
BUG(mutant_sigmoid_attention_bias_capped, attend_sigmoid) {
  add_weighted(row, [](const auto& of, std::size_t j) {
    const auto x = score(of, j) + of.sigmoid_bias;
    return sigmoid(capped(x, of.softcap) + shift(of, j));
  });
}

// The scale is applied twice.
// @judged sigmoid_attention f32 f16: plain; fail C10
BUG(mutant_sigmoid_attention_scale_twice, attend_changed_sigmoid_rows) { row.scale *= row.scale; }

// e^x / (1 + e^x) overflows for scores above 88.
// @judged sigmoid_attention f32: plain; fail C4
BUG(mutant_sigmoid_attention_exp_overflows, attend_by_sigmoid) { return std::exp(x) / (1 + std::exp(x)); }

// Scores are clamped to [-30, 30], which also hides a NaN.
// @judged sigmoid_attention f32: plain; fail C3
BUG(mutant_sigmoid_attention_scores_clamped, attend_by_sigmoid) {
  return sigmoid(std::fmin(std::fmax(x, static_cast<Real>(-30)), static_cast<Real>(30)));
}

// A masked score is 0 and not -inf, so that its coefficient is sigmoid(b).
// @judged sigmoid_attention f32: plain; fail C1; output|kernel.masked_row
BUG(mutant_sigmoid_attention_masked_at_zero, attend_sigmoid) {
  const std::vector<std::uint8_t> visible = row.visible;
  row.visible.assign(row.items(), 1);
  add_weighted(row, [&](const auto& of, std::size_t j) {
    return sigmoid(visible[j] != 0 ? sigmoid_score(of, j) : of.sigmoid_bias);
  });
}

// The coefficients are divided by their sum, as a softmax's.
// @judged sigmoid_attention f32: plain; fail C9
BUG(mutant_sigmoid_attention_normalised, attend_sigmoid) {
  Real sum = 0;
  for (std::size_t j = 0; j < row.items(); ++j) sum += row.visible[j] != 0 ? sigmoid(sigmoid_score(row, j)) : 0;
  attend_sigmoid_row(row);
  for (Real& out : row.out) out /= sum == 0 ? 1 : sum;
}

// The last tile of 32 keys is lost if it is not full.
// @judged sigmoid_attention f32: plain; fail C5
BUG(mutant_sigmoid_attention_last_tile_lost, attend_changed_sigmoid_rows) {
  const std::size_t whole = row.items() / 32 * 32;
  for (std::size_t j = whole; j < row.items() && whole > 0; ++j) row.visible[j] = 0;
}

// The tanh form without the half of its argument.
// @judged sigmoid_attention f32: plain sigmoid=tanh; fail C12
BUG(mutant_sigmoid_attention_tanh_of_whole, attend_by_sigmoid) { return (1 + std::tanh(x)) / 2; }

// A cheap sigmoid, (1 + x / (1 + |x|)) / 2.
// @judged sigmoid_attention bf16: plain sigmoid=tanh; fail C12
BUG(mutant_sigmoid_attention_rational, attend_by_sigmoid) { return (1 + x / (1 + std::fabs(x))) / 2; }
