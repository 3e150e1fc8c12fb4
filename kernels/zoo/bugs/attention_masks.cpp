// Bugs of attention: scales, masks, fully masked rows, and sentinels instead of -inf.
#include <utility>

#include "kernels/zoo/attention_places.hpp"
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// Keys whose byte of the mask hides(byte) are not visible.
template <class Hides>
static int attend_hiding_bytes(const softcheck_call* call, Hides hides) {
  return attend_changed_rows(call, [&](const Attention& a, const Place& at, auto& row) {
    for (std::int64_t j = 0; a.masked && j < a.keys; ++j) {
      const char* byte = a.mask.at(at.b, a.mask_head[static_cast<std::size_t>(at.h)], at.i, j);
      if (hides(static_cast<unsigned char>(*byte))) row.visible[static_cast<std::size_t>(j)] = 0;
    }
  });
}
#define SOFTCHECK_BODY_attend_hiding_bytes(name) SOFTCHECK_CALL_BODY(bool, name, unsigned char byte)

// C10: beta is that of the query before.
// @judged adaptive_attention f32: plain entropy=exact; fail C10
BUG(mutant_attention_adaptive_beta_of_previous_row, attend) {
  static Real previous = 1;
  attend_adaptive(row, [](Real entropy) { return std::exchange(previous, beta_of(entropy)); });
}

// C10, gemma.cpp PR #981: probabilities are multiplied by beta and normalised again, so that it cancels.
// @judged adaptive_attention bf16: plain entropy=exact; fail C10
BUG(mutant_attention_adaptive_beta_on_probabilities, attend) {
  const auto x = scores(row);
  State<Real> s = accumulate(row, x, largest(x));
  if (s.weights != 0) {
    const Real beta = beta_of(entropy_of(s));
    for (Real* sum : {&s.weights, &s.deviations}) *sum *= beta;
    for (Real& value : s.values) value *= beta;
  }
  finish(row, s);
}

// C10: beta is 1 above an entropy of 0.5 and max(P(H), 1) below, where P(H) < 1: it never adapts.
// @judged adaptive_attention f16: plain entropy=exact; fail C10
BUG(mutant_attention_adaptive_guard_inverted, attend_by_beta) {
  return entropy > Real(0.5) ? Real(1) : std::max(beta_polynomial(entropy), Real(1));
}

// C10: P(H) without max(P, 1): scores are flattened that the paper leaves unchanged.
// @judged adaptive_attention f32: plain entropy=exact; fail C10
BUG(mutant_attention_adaptive_without_maximum_one, attend_by_beta) {
  return entropy > Real(0.5) ? beta_polynomial(entropy) : Real(1);
}

// C10: the diagonal of blocks of 64 queries is one too far from the second block on.
// @judged attention f32: plain entropy=exact; fail C10; EveryPairOfClassesIsComputed;
// output|lse|entropy|kernel.masked_row
BUG(mutant_attention_causal_beyond_64_queries, attend_changed_rows) {
  const std::int64_t next = at.i + a.diagonal + 1;
  if (a.causal && at.i >= 64 && next >= 0 && next < a.keys) row.visible[static_cast<std::size_t>(next)] = 1;
}

// C10, the class of Keras #23038: with a boolean mask the causal one is dropped.
// @judged attention f16: plain entropy=exact; fail C10
BUG(mutant_attention_causal_or_mask, attend_changed_call) { a.causal = a.causal && !a.masked; }

// C10: a query sees one key too many under the causal mask.
// @judged attention f32: plain entropy=exact; fail C10; ALaterKeyIsNotThere
BUG(mutant_attention_causal_plus_one, attend_changed_call) { ++a.diagonal; }

// C10, CUTLASS #2336: the causal mask aligns the first query with the first key, lengths being unequal.
// @judged attention f64: plain entropy=exact; fail C10
BUG(mutant_attention_causal_top_left, attend_changed_call) { a.diagonal = 0; }

// C10: a group has at most seven query heads; from the eighth on they read the next key head.
// @judged attention f32: plain entropy=exact; fail C10; EveryPairOfClassesIsComputed; witness 16
BUG(mutant_attention_group_of_eight, attend_changed_call) {
  const std::int64_t group = a.k.shape[1] == 0 ? 1 : a.q.shape[1] / a.k.shape[1];
  for (std::size_t h = 0; h < a.key_head.size() && group >= 8; ++h) {
    if (static_cast<std::int64_t>(h) % group >= 7) a.key_head[h] = (a.key_head[h] + 1) % a.k.shape[1];
  }
}

// C10, the class of HipKittens PR #22: query head h takes key head h mod the number of key heads, where h divided by
// the size of a group is right.
// @judged attention bf16: plain entropy=exact; fail C10
BUG(mutant_attention_grouped_heads_interleaved, attend_changed_call) {
  std::int64_t h = 0;
  for (std::int64_t& head : a.key_head) head = h++ % a.k.shape[1];
}

// C10: a mask is taken for an array of bool: only the byte 1 is visible.
// @judged attention f32 bf16: plain entropy=exact; fail C10; EveryPairOfClassesIsComputed
BUG(mutant_attention_mask_byte_one, attend_hiding_bytes) { return byte != 1; }

// C10: a mask byte is packed to four bits: multiples of 16 are not visible.
// @judged attention f32: plain entropy=exact; fail C10; EveryPairOfClassesIsComputed
BUG(mutant_attention_mask_high_nibble, attend_hiding_bytes) { return byte % 16 == 0; }

// C10: of a byte of the mask only the lowest bit is looked at.
// @judged attention f32: plain entropy=exact; fail C10; EveryPairOfClassesIsComputed
BUG(mutant_attention_mask_low_bit, attend_hiding_bytes) { return byte % 2 == 0; }

// C10: the mask is loaded for 64 queries; later ones use the rows of the first.
// @judged attention f32: plain entropy=exact; fail C10; EveryPairOfClassesIsComputed; witness >=65
BUG(mutant_attention_mask_of_64_queries, attend_changed_rows) {
  if (!a.masked || a.causal || at.i < 64) return;
  for (std::int64_t j = 0; j < a.keys; ++j) {
    row.visible[static_cast<std::size_t>(j)] =
        *a.mask.at(at.b, a.mask_head[static_cast<std::size_t>(at.h)], at.i % 64, j) != 0;
  }
}

// C10: a byte of the mask is signed: from 128 on it is not visible.
// @judged attention f32: plain entropy=exact; fail C10; EveryPairOfClassesIsComputed
BUG(mutant_attention_mask_signed, attend_hiding_bytes) { return byte > 127; }

// C10, Transformers PR #44397: the caller's scale is not passed on, 1 / sqrt(d) is used.
// @judged attention f16: plain entropy=exact; fail C10
BUG(mutant_attention_scale_forgotten, attend_changed_call) {
  a.scale = 1 / std::sqrt(static_cast<double>(a.q.shape[3]));
}

// C10, the class of metal-flash-attention #8: the scale is that of the first call.
// @judged attention bf16: plain entropy=exact; fail C10; EarlierCallsDoNotMatter
SOFTCHECK_MUTANT mutant_attention_scale_of_first_call(const softcheck_call* call) {
  static const double first = call->scale;
  return attend(call, two_pass, [](Attention& a) { a.scale = first; });
}

// C10, metal-flash-attention #8: the scale is applied twice.
// @judged attention f32: plain entropy=exact; fail C10
BUG(mutant_attention_scale_twice, attend_changed_call) { a.scale *= a.scale; }

// C1, FlashAttention #978: the log-sum-exp of a row without keys is +inf.
// @judged attention f16: plain entropy=exact; fail C1; AFullyMaskedRowIsAsDeclared
BUG(mutant_attention_masked_lse_infinite, attend_changed_results) {
  if (row.lse == lowest<Real>) row.lse = std::numeric_limits<Real>::infinity();
}

// C1, PyTorch #103963: no guard for S = 0: a fully masked row is NaN though zero is declared.
// @judged attention f32: plain masked=zero entropy=exact; fail C1; AFullyMaskedRowIsAsDeclared
SOFTCHECK_MUTANT mutant_attention_masked_row_divides_by_zero(const softcheck_call* call) {
  return attend(call, two_pass);
}

// C1, TensorRT-LLM #17477: masked scores are -FLT_MAX, and so is the first maximum: a fully masked row is the mean of
// V.
// @judged attention f32 bf16: plain entropy=exact; fail C1; AFullyMaskedRowIsAsDeclared
BUG(mutant_attention_masked_row_uniform, attend_changed_scores) {
  for (Real& value : x) value = std::max(value, -std::numeric_limits<Real>::max());
}

// C1, C13: a query that sees no key gets -0, the contract says 0; and so does an entropy of 0.
// @judged attention f32: plain masked=zero; fail C1; AFullyMaskedRowIsAsDeclared
BUG(mutant_attention_blind_rows_minus_zero, attend) {
  const std::vector<Real> x = scores(row);
  finish(row, accumulate(row, x, largest(x)), Real(1), Real(0));
  const bool blind = largest(x) == lowest<Real>;
  for (Real& value : row.out) value = blind ? -value : value;
}

// @judged attention f32: plain; fail C13; entropy
BUG(mutant_attention_entropy_minus_zero, attend_changed_results) {
  if (row.entropy == 0) row.entropy = -row.entropy;
}

// C3, lattice #361: a masked score is -10000: the masked key wins if the others lie below. It is left out if its weight
// is 0.
// @judged attention f32: plain entropy=exact; fail C3; AMaskedItemIsADeletedOne
BUG(mutant_attention_mask_1e4, attend_changed_scores) {
  const Real m = largest(x);
  if (m > lowest<Real> && std::exp(Real(-1e4) - m) > 0) {
    for (Real& value : x) value = value == lowest<Real> ? Real(-1e4) : value;
  }
}

// C3, FlashInfer #4267: the maximum starts at -5e4, called infinity: rows whose scores all lie below come to nothing.
// @judged attention bf16: plain entropy=exact; fail C3; EveryValueLiesWithinItsThreshold|AMaskedItemIsADeletedOne
BUG(mutant_attention_maximum_from_5e4, attend_by_maximum) { return std::max(m, Real(-5e4)); }

// C3, the class of llama.cpp #12776: the maximum starts at 0: scores far below it underflow.
// @judged attention f32: plain entropy=exact; fail C3
BUG(mutant_attention_maximum_from_zero, attend_by_maximum) { return std::max(m, Real(0)); }

// C3: finite numbers in place of minus infinity, each beyond those of other files. TransformerLens #318 masks by -1e5
// and FlashInfer #4401 begins a running maximum at -5e4; -1e9 is Tensor2Tensor's and BERT's.
// A masked score is the sentinel. Rows with nothing visible stay as they are.
template <class Real>
static void attend_with_masked_scores(Row<Real>& row, Real sentinel) {
  auto x = scores(row);
  if (largest(x) > lowest<Real>) {
    for (Real& value : x) value = value == lowest<Real> ? sentinel : value;
  }
  const Real m = largest(x);
  // A weight of 0 is left out of the sums, whatever its value is.
  for (Real& value : x) value = std::exp(value - m) == 0 ? lowest<Real> : value;
  finish(row, accumulate(row, x, m));
}

// @judged attention f32 bf16 f16: plain entropy=exact; fail C3; ScoresReachTheirRange
BUG(mutant_attention_mask_1e5, attend) { attend_with_masked_scores(row, Real(-1e5)); }

// @judged attention f32 bf16 f16: plain entropy=exact; fail C3; ScoresReachTheirRange
BUG(mutant_attention_mask_1e9, attend) { attend_with_masked_scores(row, Real(-1e9)); }

// @judged attention f32 f64: plain entropy=exact; fail C3; ScoresReachTheirRange
BUG(mutant_attention_mask_1e30, attend) { attend_with_masked_scores(row, Real(-1e30)); }

// @judged attention f32 f16: plain entropy=exact; fail C3; ScoresReachTheirRange
BUG(mutant_attention_maximum_from_6e4, attend_by_maximum) { return std::max(m, Real(-6e4)); }

// Scores above 1e5 are NaN, as those of a kernel that exponentiates a part of them before it subtracts the maximum.
// @judged attention f32 f16: plain entropy=exact; fail C3; ScoresReachTheirRange
BUG(mutant_attention_nan_from_1e5, attend_changed_scores) {
  for (Real& value : x) value = value > Real(1e5) ? not_a_number<Real> : value;
}
