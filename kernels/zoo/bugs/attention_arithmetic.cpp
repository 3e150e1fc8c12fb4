// Bugs of attention: exponentials, overflow, precision, reductions and entropies.
#include <bit>
#include <numbers>

#include "kernels/zoo/attention_places.hpp"
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// C12 for beta: the coefficients in ascending order, as a public port feeds them to a function that wants the highest
// power first.
// @judged adaptive_attention f64: plain entropy=exact; fail C12
BUG(mutant_attention_adaptive_ascending_coefficients, attend_by_beta) {
  const Real value = polynomial(entropy, {-1.791, 4.917, -2.3, 0.481, -0.037});
  return entropy > Real(0.5) ? std::max(value, Real(1)) : Real(1);
}

// C12 for beta: 0.418 for 0.481, two digits swapped.
// @judged adaptive_attention f32: plain entropy=exact; fail C12
BUG(mutant_attention_adaptive_coefficient_digit, attend_by_beta) {
  const Real value = polynomial(entropy, {-0.037, 0.418, -2.3, 4.917, -1.791});
  return entropy > Real(0.5) ? std::max(value, Real(1)) : Real(1);
}

// C12: exp2 by a parabola between powers of two, errors up to 2e-3.
// @judged attention f32: plain entropy=exact; fail C12
BUG(mutant_attention_exp_of_degree_two, attend) {
  const auto x = scores(row);
  const Real m = largest(x);
  State<Real> s(row.out.size());
  s.maximum = m;
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (x[j] == lowest<Real>) continue;
    const Real y = (x[j] - m) * static_cast<Real>(std::numbers::log2e), whole = std::floor(y), part = y - whole;
    const Real parabola = 1 + part * (Real(0.656) + part * Real(0.344));
    add(s, row, j, -(whole * static_cast<Real>(std::numbers::ln2) + std::log(parabola)));
  }
  finish(row, s);
}

// C12: a NaN is looked for in the first 300 keys; later NaN scores count as masked.
// @judged attention f32: plain entropy=exact; fail C12; ANanReachesWhoeverMeetsIt|EveryPairOfClassesIsComputed; witness
// >=301
BUG(mutant_attention_nan_beyond_300_keys, attend_changed_rows) {
  for (std::size_t j = 300; j < row.items(); ++j) {
    if (std::isnan(score(row, j))) row.visible[j] = 0;
  }
}

// C12: the maximum is taken of the scores as integers: a negative NaN lies below everything.
// @judged attention f32: plain entropy=exact; fail C12; ANanReachesWhoeverMeetsIt|EveryPairOfClassesIsComputed
BUG(mutant_attention_nan_negative, attend_changed_rows) {
  const std::size_t d = row.query.size();
  for (std::size_t j = 0; j < row.items(); ++j) {
    for (std::size_t t = 0; t < d; ++t) {
      const Real x = row.keys[j * d + t];
      if (std::isnan(x) && std::signbit(x)) row.visible[j] = 0;
    }
  }
}

// C12, torch 2.15 on the CPU (scaled_dot_product_attention): below a vector's width the maximum drops NaN, and a row
// whose maximum is -inf counts as fully masked. A query with a NaN gives 0.
// @judged attention f32: plain; fail C12; ANanReachesWhoeverMeetsIt|EveryPairOfClassesIsComputed; domain nan=visible
BUG(mutant_attention_nan_of_few_keys, attend) {
  two_pass(row);
  Real best = lowest<Real>;
  for (const Real x : scores(row)) best = std::fmax(best, x);
  const bool any = std::ranges::find(row.visible, 1) != row.visible.end();
  if (row.items() < 16 && any && best == lowest<Real>) std::ranges::fill(row.out, Real(0));
}

// C12: with more than 128 keys a NaN in the last value of a column is taken for padding.
// @judged attention f32: plain entropy=exact; fail C12; ANanReachesWhoeverMeetsIt|EveryPairOfClassesIsComputed; witness
// 129
BUG(mutant_attention_nan_of_last_value, attend_changed_rows) {
  const std::size_t size = row.out.size();
  for (std::size_t k = row.values.size() - size; row.items() > 128 && k < row.values.size(); ++k) {
    if (std::isnan(row.values[k])) row.values[k] = 0;
  }
}

// Keys whose weight underflows to 0 are left out, so that the NaN of such a value does not show: 0 times NaN is NaN.
// @judged attention f32: plain entropy=exact; fail C9; ANanReachesWhoeverMeetsIt; effort default
BUG(mutant_attention_skips_zero_weights, attend_changed_rows) {
  const std::vector<Real> x = scores(row);
  const Real maximum = largest(x);
  const std::size_t size = row.out.size();
  for (std::size_t j = 0; j < row.items(); ++j) {
    if (std::exp(x[j] - maximum) == 0) std::fill_n(row.values.begin() + static_cast<std::ptrdiff_t>(j * size), size, 0);
  }
}

// C12: a NaN is known by comparing its bits with those of the usual one; another in a value counts as 0.
// @judged attention f32: plain entropy=exact; fail C12; ANanReachesWhoeverMeetsIt|EveryPairOfClassesIsComputed
BUG(mutant_attention_nan_payload, attend_changed_rows) {
  using Bits = std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t>;
  const Bits usual = std::bit_cast<Bits>(std::numeric_limits<Real>::quiet_NaN());
  for (Real& x : row.values) {
    if (std::isnan(x) && std::bit_cast<Bits>(x) != usual) x = 0;
  }
}

// C12: a NaN is known by its quiet bit; a signalling NaN in a query counts as 0.
// @judged attention f32: plain entropy=exact; fail C12; ANanReachesWhoeverMeetsIt|EveryPairOfClassesIsComputed
BUG(mutant_attention_nan_signalling, attend_changed_rows) {
  using Bits = std::conditional_t<sizeof(Real) == 8, std::uint64_t, std::uint32_t>;
  constexpr Bits quiet = Bits(1) << (std::numeric_limits<Real>::digits - 2);
  for (std::size_t t = 0; t < row.query.size(); ++t) {
    if (!std::isnan(row.query[t])) continue;
    Bits bits{};
    std::memcpy(&bits, a.q.at(at.b, at.h, at.i, static_cast<std::int64_t>(t)), sizeof bits);
    if ((bits & quiet) == 0) row.query[t] = 0;
  }
}

// C12, FlashInfer PR #4401: differences are clamped by a maximum that drops a NaN operand: a NaN score has weight 0.
// @judged attention f32 f16: plain entropy=exact; fail C12; ANanReachesWhoeverMeetsIt
BUG(mutant_attention_nan_swallowed, attend_changed_scores) {
  for (Real& value : x) value = std::fmax(value, lowest<Real>);
}

// C4, the class of tt-metal #12661: scores are clamped to where exp does not overflow.
// @judged attention f32: plain entropy=exact; fail C4
BUG(mutant_attention_clamps_scores, attend_changed_scores) {
  for (Real& value : x) {
    if (value > lowest<Real>) value = std::clamp(value, Real(-80), Real(80));
  }
}

// C4, NNlib #506: no maximum is subtracted.
// @judged attention f64 f32: plain entropy=exact; fail C4
BUG(mutant_attention_no_max_shift, attend) { finish(row, accumulate(row, scores(row), Real(0))); }

// C11, llama.cpp #28124: O is accumulated in f16, although the caller set f32.
// @judged attention f32 f16: plain entropy=exact; fail C11; output
BUG(mutant_attention_output_in_f16, attend) {
  const auto x = scores(row);
  finish(row, accumulate(row, x, largest(x), Real(1), [](State<Real>& s) {
           for (Real& value : s.values) value = rounded_to_f16(static_cast<float>(value));
         }));
}

// C11, the class of openvino #23608: scores are stored in bf16 between the two products.
// @judged attention f32 bf16: plain entropy=exact; fail C11
BUG(mutant_attention_scores_in_bf16, attend_changed_scores) {
  for (Real& value : x) value = rounded_to_bf16(static_cast<float>(value));
}

// C11, ik_llama #1196: S is kept in bf16, where 256 + 1 = 256.
// @judged attention bf16 f32: plain entropy=exact; fail C11
BUG(mutant_attention_sum_in_bf16, attend) {
  const auto x = scores(row);
  finish(row, accumulate(row, x, largest(x), Real(1),
                         [](State<Real>& s) { s.weights = rounded_to_bf16(static_cast<float>(s.weights)); }));
}

// C9, rvllm #1: the last group of 8 keys is reduced with all lanes; idle ones give the maximum their 0.
// @judged attention f32: plain entropy=exact; fail C9
BUG(mutant_attention_idle_lanes, attend_by_maximum) { return x.size() % 8 == 0 ? m : std::max(m, Real(0)); }

// C9, KarhouTam/cuda-kernels #1: eight lanes with different maxima are added as if they had the same one.
// @judged attention f32: plain entropy=exact; fail C9
BUG(mutant_attention_lanes_without_rescale, attend) {
  std::vector<State<Real>> lanes(8, State<Real>(row.out.size()));
  for (std::size_t j = 0; j < row.items(); ++j) absorb(lanes[j % 8], row, j, score(row, j));
  const Real m = largest(scores(row));
  for (State<Real>& lane : lanes) lane.maximum = lane.weights == 0 ? lane.maximum : m;
  for (std::size_t k = 1; k < 8; ++k) lanes[0] = merged(lanes[0], lanes[k]);
  finish(row, lanes[0]);
}

// C9, the class of ONNX Runtime #14475: the maximum is that of the first 16 keys.
// @judged attention f32: plain entropy=exact; fail C9; witness 17
BUG(mutant_attention_max_of_first_block, attend) {
  const auto x = scores(row);
  const Real m = largest(x, 0, std::min<std::size_t>(16, x.size()));
  finish(row, accumulate(row, x, m == lowest<Real> ? largest(x) : m));
}

// C9, the class of Liger #1252: where the maximum rises S is rescaled and O is not.
// @judged attention f16: plain entropy=exact; fail C9; output
BUG(mutant_attention_output_not_rescaled, attend) {
  State<Real> s(row.out.size());
  for (std::size_t j = 0; j < row.items(); ++j) {
    const auto values = s.values;
    const Real x = score(row, j);
    if (x > s.maximum) {
      rescale(s, x);
      s.values = values;
    }
    absorb(s, row, j, x);
  }
  finish(row, s);
}

// C13: an entropy that is too small by a part of the error that a long sum may have: negative for a sharp query.
// @judged attention f32: plain; fail C13; entropy
BUG(mutant_attention_entropy_below_zero, attend) {
  attend_two_pass(row);
  const auto visible = std::count_if(row.visible.begin(), row.visible.end(), [](auto seen) { return seen != 0; });
  row.entropy -= static_cast<Real>(std::ldexp(static_cast<double>(visible), -26));
}

// C13, PyTorch #40553: sum p ln p.
// @judged attention f16: plain entropy=exact; fail C13; entropy
BUG(mutant_attention_entropy_negated, attend_changed_results) { row.entropy = -row.entropy; }

// C13, FlashAttention PR #2359: entropy as lse - sum w x / S, where the scores' size cancels.
// @judged attention f32: plain entropy=exact; fail C13; entropy
BUG(mutant_attention_entropy_uncentred, attend_changed_results) {
  const auto x = scores(row);
  const Real m = largest(x);
  Real sum = 0, weighted = 0;
  for (const Real value : x) {
    if (value == lowest<Real>) continue;
    sum += std::exp(value - m);
    weighted += std::exp(value - m) * value;
  }
  if (sum != 0) row.entropy = row.lse - weighted / sum;
}

// C13, C2: online, where the maximum rises S and O are rescaled and T is not.
// @judged attention bf16: plain entropy=exact; fail C13; entropy
BUG(mutant_attention_entropy_unrescaled, attend) {
  State<Real> s(row.out.size());
  for (std::size_t j = 0; j < row.items(); ++j) {
    const Real deviations = s.deviations, x = score(row, j);
    if (x > s.maximum) {
      rescale(s, x);
      s.deviations = deviations;
    }
    absorb(s, row, j, x);
  }
  finish(row, s);
}

// C13, the paper's own code, AST #17 with 1e-8: -sum p ln(p + 1e-8), although the contract promises the exact entropy.
// @judged attention f64: plain entropy=exact; fail C13; entropy
BUG(mutant_attention_entropy_with_epsilon, attend_changed_results) {
  if (row.lse == lowest<Real>) return;
  row.entropy = 0;
  for (const Real x : scores(row)) {
    const Real p = std::exp(x - row.lse);
    row.entropy -= p * std::log(p + Real(1e-8));
  }
}
