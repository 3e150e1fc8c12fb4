// Correct kernels of attention.
#include "kernels/zoo/attention_sequence_attributes.hpp"

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
