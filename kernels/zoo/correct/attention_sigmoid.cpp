// Correct kernels of sigmoid attention.
#include <algorithm>

#include "kernels/zoo/sigmoid_attention.hpp"

using namespace softcheck::kernels::zoo::attention;

// @judged sigmoid_attention f64 f32 f16 bf16 8bits: plain; pass
// @judged sigmoid_attention f32 bf16: plain; pass; domain window softcap alibi bias causal=either
CORRECT(sigmoid_attention_correct_branches, attend_sigmoid) { attend_sigmoid_row(row); }

// FlashSigmoid's form, whose errors are absolute.
// @judged sigmoid_attention f32 f16: plain sigmoid=tanh; pass
// @judged sigmoid_attention f32: plain; fail C11
CORRECT(sigmoid_attention_correct_tanh, attend_by_sigmoid) { return (1 + std::tanh(x / 2)) / 2; }

// Log2(e) is folded into scale and bias; a quotient of an infinite sum is 0.
// @judged sigmoid_attention f32 f16: exp=E:4,A:4 sum=sequential; pass
CORRECT(sigmoid_attention_correct_base_2, attend_sigmoid) {
  const Real to_base_2 = static_cast<Real>(1.4426950408889634);
  row.scale *= to_base_2;
  row.sigmoid_bias *= to_base_2;
  add_weighted(row, [](const auto& of, std::size_t j) { return 1 / (1 + std::exp2(-sigmoid_score(of, j))); });
}

// Tiles of 64 keys with weights in bf16; their sums are added at the end. Computes its own bias.
// @judged sigmoid_attention bf16: exp=1ulp sum=blocks:64 weights=bf16; pass; domain sigmoid_bias=-ln(keys)
// @judged sigmoid_attention bf16: exp=1ulp sum=blocks:64; fail C11; domain sigmoid_bias=-ln(keys)
CORRECT(sigmoid_attention_correct_tiles, attend_sigmoid) {
  constexpr std::size_t tile = 64;
  const std::size_t size = row.out.size();
  row.sigmoid_bias = -std::log(static_cast<Real>(row.items()));
  std::vector<std::vector<Real>> sums;
  for (std::size_t first = 0; first < row.items(); first += tile) {
    std::vector<Real>& sum = sums.emplace_back(size);
    for (std::size_t j = first; j < std::min(first + tile, row.items()); ++j) {
      if (row.visible[j] == 0) continue;
      const Real weight = static_cast<Real>(rounded_to_bf16(static_cast<float>(sigmoid(sigmoid_score(row, j)))));
      for (std::size_t c = 0; c < size; ++c) sum[c] += weight * row.values[j * size + c];
    }
  }
  for (std::size_t step = 1; step < sums.size(); step *= 2) {
    for (std::size_t k = 0; k + step < sums.size(); k += 2 * step) {
      for (std::size_t c = 0; c < size; ++c) sums[k][c] += sums[k + step][c];
    }
  }
  row.out = sums.empty() ? std::vector<Real>(size) : sums[0];
}
