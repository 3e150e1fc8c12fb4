// Correct kernels of differential attention.
#include <algorithm>

#include "kernels/zoo/differential_attention.hpp"

using namespace softcheck::kernels::zoo::attention;

// Two attentions and their difference: Microsoft's multihead_flashdiff_2.py.
// @judged differential_attention f64 f32 f16 bf16 8bits: plain; pass
// @judged differential_attention f32 bf16: plain; pass; domain window softcap alibi bias causal=either
// @judged differential_attention f32: plain; pass; domain lambda=shared
CORRECT(differential_attention_correct_of_parts, attend_differential) { subtract_maps(row); }

// The difference of the weights, which then multiplies the values: multihead_diffattn.py.
// @judged differential_attention f32 f16: plain; pass
CORRECT(differential_attention_correct_of_weights, attend_differential) {
  add_differences(row, [&](Real p, Real other) { return p - row.lambda() * other; });
}

// Both maps in one pass over the keys, each with a running maximum; lambda is folded into the second one's divisor.
// @judged differential_attention f32 bf16: plain; pass
CORRECT(differential_attention_correct_online, attend_differential) {
  State<Real> first(row.out().size()), second = first;
  for (std::size_t j = 0; j < row.first.items(); ++j) {
    absorb(first, row.first, j, attributed_score(row.first, j));
    absorb(second, row.second, j, attributed_score(row.second, j));
  }
  const Real factor = row.lambda() / second.weights;
  for (std::size_t c = 0; c < row.out().size(); ++c) {
    row.out()[c] =
        first.weights == 0 ? not_a_number<Real> : first.values[c] / first.weights - factor * second.values[c];
  }
}

// Both outputs, lambda and its product in bf16, as torch computes them of a model in bf16.
// @judged differential_attention bf16: plain values=bf16; pass
// @judged differential_attention bf16: plain; fail C11
CORRECT(differential_attention_correct_bf16_parts, attend_differential) {
  const auto stored = [](Real x) { return static_cast<Real>(rounded_to_bf16(static_cast<float>(x))); };
  attend_both(row);
  const Real lambda = stored(row.lambda());
  for (std::size_t c = 0; c < row.out().size(); ++c) {
    row.out()[c] = stored(row.out()[c]) - stored(lambda * stored(row.second.out[c]));
  }
}

// Tiles of 32 keys, each with both maps' states; fully masked rows are 0.
// @judged differential_attention f32: exp=1ulp sum=lanes:32 masked=zero; pass; domain causal
CORRECT(differential_attention_correct_tiles, attend_differential) {
  constexpr std::size_t tile = 32;
  State<Real> all[2] = {State<Real>(row.out().size()), State<Real>(row.out().size())};
  for (std::size_t begin = 0; begin < row.first.items(); begin += tile) {
    const std::size_t end = std::min(begin + tile, row.first.items());
    all[0] = merged(all[0], online(row.first, begin, end));
    all[1] = merged(all[1], online(row.second, begin, end));
  }
  finish<Real>(row.second, all[1], 1, 0);
  finish<Real>(row.first, all[0], 1, 0);
  for (std::size_t c = 0; c < row.out().size(); ++c) row.out()[c] -= row.lambda() * row.second.out[c];
}
