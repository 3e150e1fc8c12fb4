// Bugs of attention: temperature, scale and masks.
#include <utility>

#include "kernels/zoo/attention_places.hpp"

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
// @judged attention f32: plain entropy=exact; fail C10; EveryPairOfClassesIsComputed
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
// @judged attention f32: plain entropy=exact; fail C10; EveryPairOfClassesIsComputed; witness 65
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
