// Correct kernels of attention.
#include <algorithm>
#include <numbers>
#include <utility>

#include "kernels/zoo/attention_attributed.hpp"
#include "kernels/zoo/attention_sequence_attributes.hpp"
#include "kernels/zoo/sigmoid_attention.hpp"

using namespace softcheck::kernels::zoo::attention;

// Correct adaptive attention: scores are stored, entropy ln S + T / S, then a second softmax of beta times the scores.
// @judged adaptive_attention f64 f32 f16 bf16: plain entropy=exact; pass
CORRECT(attention_correct_adaptive, attend) { attend_adaptive(row, beta_of<Real>); }

// Correct adaptive attention as the paper's code has it: H = -sum p ln(p + 1e-9), the logarithm in double.
// @judged adaptive_attention f32: plain entropy=paper; pass
CORRECT(attention_correct_adaptive_paper, attend) {
  const auto x = scores(row);
  const Real m = largest(x);
  const State<Real> s = accumulate(row, x, m);
  Real entropy = 0;
  for (const Real value : x) {
    const Real p = std::exp(value - m) / s.weights;
    entropy -= p * static_cast<Real>(std::log(static_cast<double>(p) + 1e-9));
  }
  const Real beta = beta_of(entropy);
  finish(row, accumulate(row, x, m, beta), beta);
}

// Correct adaptive attention, appendix G of "Softmax is not Enough": two passes over the keys, the first streaming
// (m, L, K) with K = sum (x - m) exp(x - m), the second online with beta. Only a state is stored.
template <class Real>
static Real streamed_entropy(const Row<Real>& row) {
  Real m = lowest<Real>, sum = 0, centred = 0;
  for (std::size_t j = 0; j < row.items(); ++j) {
    const Real x = score(row, j);
    if (x == lowest<Real>) continue;
    if (x > m) {
      const Real c = std::exp(m - x);
      centred = c == 0 ? 0 : c * (centred + (m - x) * sum);
      sum = c * sum + 1;
      m = x;
    } else {
      const Real w = std::exp(x - m);
      centred += w == 0 ? 0 : (x - m) * w;
      sum += w;
    }
  }
  return std::log(sum) - centred / sum;
}

// @judged adaptive_attention f32 f64: plain entropy=exact; pass
CORRECT(attention_correct_adaptive_streaming, attend) {
  const Real beta = beta_of(streamed_entropy(row));
  finish(row, online(row, 0, row.items(), beta), beta);
}

// Correct, FlashAttention-2: under causality slope j in place of - slope |p - j|, the same but for the log-sum-exp,
// which it has not.
// @judged attention f32: plain; pass; domain window softcap sinks alibi bias causal=either
SOFTCHECK_MUTANT attention_correct_alibi_from_key_0(const softcheck_call* call) {
  if (call->n_outputs > 1) return 1;
  const bool causal = call->causal != 0;
  return attend_by_scores(call, [causal]<class Real>(const AttributedRow<Real>& row, std::size_t j) {
    if (!causal || row.sink || row.visible[j] == 0) return attributed_score(row, j);
    const Real placed = capped(score<Real>(row, j), row.softcap) + row.slope * static_cast<Real>(j);
    return row.bias.empty() ? placed : placed + row.bias[j];
  });
}

// Windows, alignments, softcap, sinks, ALiBi and bias, all scores first.
// @judged attention f32 f64 f16 bf16 8bits: plain; pass; domain window softcap sinks alibi bias causal=either
CORRECT(attention_correct_attributes, attend_changed) {}

// Correct under contract exp=E:4,A:4: exponentials of base 2, the sink first.
// @judged attention f32: exp=E:4,A:4 sum=sequential masked=nan; pass; domain window softcap sinks alibi bias
// causal=either
CORRECT(attention_correct_attributes_base_2, attend_attributed) {
  const Real to_base_2 = static_cast<Real>(1.4426950408889634), ln_2 = static_cast<Real>(0.6931471805599453);
  std::vector<Real> x = scores_by(row, usual_score);
  for (Real& score : x) score *= to_base_2;
  Real m = largest(x);
  if (row.sink && !std::isnan(m)) m = std::max(m, *row.sink * to_base_2);
  Real sum = row.sink ? std::exp2(*row.sink * to_base_2 - m) : 0, deviations = 0;
  std::vector<Real> values(row.out.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (x[j] == lowest<Real>) continue;
    const Real w = std::exp2(x[j] - m);
    sum += w;
    deviations += w == 0 ? 0 : w * ((m - x[j]) * ln_2);
    for (std::size_t c = 0; c < values.size(); ++c) values[c] += w * row.values[j * values.size() + c];
  }
  State<Real> s(row.out.size());
  s.maximum = m == lowest<Real> ? m : m * ln_2;
  s.weights = sum;
  s.deviations = deviations;
  s.values = values;
  finish<Real>(row, s);
}

// Correct under contract tanh=8ulp: one key at a time, the sink after all keys, tanh from expm1.
// @judged attention f32: plain tanh=8ulp; pass; domain window softcap sinks alibi bias causal=either
CORRECT(attention_correct_attributes_online, attend_attributed) {
  State<Real> s(row.out.size());
  for (std::size_t j = 0; j < row.items(); ++j) {
    Real x = score<Real>(row, j);
    if (x == lowest<Real>) continue;
    if (row.softcap != 0) {
      const Real twice = std::expm1(2 * std::min(std::abs(x) / row.softcap, Real(40)));
      x = std::copysign(row.softcap * (twice / (twice + 2)), x);
    }
    absorb<Real>(s, row, j, x + shift(row, j));
  }
  if (row.sink && !std::isnan(s.maximum)) {
    if (*row.sink > s.maximum) rescale(s, *row.sink);
    s.weights += std::exp(*row.sink - s.maximum);
  }
  finish<Real>(row, s);
}

// Causality and windows always count from the first query and the first key; the call's alignment is ignored.
// @judged attention f32: plain; pass; domain causal=top-left window nomask
CORRECT(attention_correct_attributes_top_left, attend_changed) { a.plain.diagonal = 0; }

// Blocks of 16 keys as in FlashAttention, at most one rescaling a block. Sums run from key to key: sequential.
// @judged attention f32 f16: plain entropy=exact; pass
CORRECT(attention_correct_blocked, attend) {
  const auto x = scores(row);
  State<Real> s(row.out.size());
  for (std::size_t begin = 0; begin < x.size(); begin += 16) {
    const std::size_t end = std::min(begin + 16, x.size());
    rescale(s, std::max(s.maximum, largest(x, begin, end)));
    for (std::size_t j = begin; j < end; ++j) {
      if (x[j] != lowest<Real>) add(s, row, j, s.maximum - x[j]);
    }
  }
  finish(row, s);
}

// Correct if masks hide no NaN (nan=visible): the mask is added to the scores, as in eager attention, and NaN minus
// infinity is NaN.
// @judged attention f32: plain entropy=exact; pass; domain nan=visible
CORRECT(attention_correct_mask_added, attend) {
  Row<Real> shown = row;
  std::ranges::fill(shown.visible, 1);
  auto x = scores(shown);
  for (std::size_t j = 0; j < row.items(); ++j) x[j] += row.visible[j] != 0 ? Real(0) : lowest<Real>;
  finish(row, accumulate(row, x, largest(x)));
}

// As two_pass, but a fully masked row is zero.
// @judged attention f32 bf16: plain masked=zero entropy=exact; pass
CORRECT(attention_correct_masked_zero, attend) {
  const auto x = scores(row);
  finish(row, accumulate(row, x, largest(x)), Real(1), Real(0));
}

// One key at a time, everything rescaled where the maximum rises.
// @judged attention f64 f32 f16 bf16 8bits: plain entropy=exact; pass
CORRECT(attention_correct_online, attend) { finish(row, online(row, 0, row.items())); }

// Packed sequences, pages or both, all scores first.
// @judged attention f32 f64 bf16 8bits: plain; pass; domain packed
// @judged attention f32 f16: plain; pass; domain pages
// @judged attention f32: plain; pass; domain packed pages
SOFTCHECK_MUTANT attention_correct_packed(const softcheck_call* call) {
  return attend_sequences(call, unchanged, unchanged_sequence, two_pass);
}

// Packed sequences or pages with windows, softcap, sinks and ALiBi.
// @judged attention f32: plain; pass; domain packed window softcap sinks alibi causal=either
// @judged attention f32: plain; pass; domain pages window softcap sinks alibi causal=either
CORRECT(attention_correct_packed_attributes, attend_sequences_from) { return i + s.diagonal; }

// Packed sequences, pages or both, one key after the other; a query without keys has zeros.
// @judged attention f32: plain masked=zero; pass; domain packed
// @judged attention f32: plain masked=zero; pass; domain pages page=16
CORRECT(attention_correct_packed_online, attend_rows_of_sequences) {
  const State<Real> s = online(row, 0, row.items());
  finish<Real>(row, s, 1, 0);
}

// Pages or packed sequences in blocks of 64 keys, merged; a query without keys has zeros.
// @judged attention f32: plain masked=zero; pass; domain pages
// @judged attention f32: plain masked=zero; pass; domain packed
CORRECT(attention_correct_pages_split, attend_rows_of_sequences) {
  State<Real> all(row.out.size());
  for (std::size_t j = 0; j < row.items(); j += 64) {
    all = merged(all, online(row, j, std::min(row.items(), j + 64)));
  }
  finish<Real>(row, all, 1, 0);
}

// Keys in four parts, each online, their states merged in pairs: lanes:4.
// @judged attention f32 f16: exp=1ulp sum=lanes:4 masked=nan entropy=exact; pass
CORRECT(attention_correct_split, attend) {
  const std::size_t part = (row.items() + 3) / 4;
  const auto keys = [&](std::size_t k) {
    return online(row, std::min(k * part, row.items()), std::min((k + 1) * part, row.items()));
  };
  finish(row, merged(merged(keys(0), keys(1)), merged(keys(2), keys(3))));
}

// All scores, their maximum, then one pass over the values.
// @judged attention f64 f32 f16 bf16 8bits: plain entropy=exact; pass
// @judged attention f32: plain entropy=exact; pass; domain keys>=1 nomask nocausal
SOFTCHECK_MUTANT attention_correct_two_pass(const softcheck_call* call) { return attend(call, two_pass); }

// Correct kernels whose arithmetic needs a word of its own.

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

// Correct kernels of sigmoid attention.

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
