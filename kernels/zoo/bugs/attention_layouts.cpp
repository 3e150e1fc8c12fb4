// Bugs of attention: strides, alignment and aliasing.
#include <algorithm>
#include <numeric>

#include "kernels/zoo/attention_places.hpp"
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

// C7, FlashAttention PR #2670: the distance of heads is made up from the shape, as if nothing lay between them.
// @judged attention f64: exp=1ulp sum=sequential masked=nan entropy=exact; fail|crash C7;
// LayoutsAndNeighboursDoNotMatter; kernel.attention.output|kernel.attention.lse|kernel.attention.entropy|kernel.returns
SOFTCHECK_MUTANT mutant_attention_assumes_compact_heads(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    for (View* t : {&a.q, &a.k, &a.v}) t->strides[1] = t->shape[2] * t->shape[3];
  });
}

// C7: from query 64 on the next query stands dim elements further, whatever the strides say.
// @judged attention f32: exp=1ulp sum=sequential masked=nan entropy=exact; fail C7; EveryPairOfClassesIsComputed;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; witness 65
SOFTCHECK_MUTANT mutant_attention_compact_beyond_64_queries(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention& a, const Place& at, Row<Real>& row) {
    if (at.i < 64) return;
    View wrong = a.q;
    wrong.strides[2] = wrong.shape[3] * wrong.strides[3];
    Attention compact = a;
    compact.q = wrong;
    if (wrong.strides[2] < a.q.strides[2]) take_query_of(compact, at, row);
  });
}

// C7, attorch #14: a head is found as stride_head / stride_row rows from the first, rounded down: every head is head 0
// where rows of heads alternate.
// @judged attention f16: exp=1ulp sum=sequential masked=nan entropy=exact; fail C7; LayoutsAndNeighboursDoNotMatter;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy
SOFTCHECK_MUTANT mutant_attention_head_by_division(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    for (View* t : {&a.q, &a.k, &a.v}) {
      if (t->strides[2] > 0) t->strides[1] = t->strides[1] / t->strides[2] * t->strides[2];
    }
  });
}

// C7, the class of rocm-libraries #11387: the byte offset of V is not looked at.
// @judged attention bf16: exp=1ulp sum=sequential masked=nan entropy=exact; fail|crash C7;
// LayoutsAndNeighboursDoNotMatter; kernel.attention.output|kernel.returns
SOFTCHECK_MUTANT mutant_attention_ignores_value_offset(const softcheck_call* call) {
  return attend(call, two_pass, [call](Attention& a) { a.v.first = static_cast<char*>(call->inputs[2]->data); });
}

// C7: more than 256 transposed keys are read as if they were compact.
// @judged attention f32: exp=1ulp sum=sequential masked=nan entropy=exact; fail C7; EveryPairOfClassesIsComputed;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; witness 257
SOFTCHECK_MUTANT mutant_attention_keys_transposed_beyond_256(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    if (a.k.shape[2] <= 256 || a.k.strides[2] >= a.k.strides[3]) return;
    a.k.strides[2] = a.k.shape[3];
    a.k.strides[3] = 1;
  });
}

// C7: the log-sum-exps of more than 64 queries are written side by side, whatever the strides say.
// @judged attention f32: exp=1ulp sum=sequential masked=nan entropy=exact; fail C7; EveryPairOfClassesIsComputed;
// kernel.stays_inside|kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; witness 65
SOFTCHECK_MUTANT mutant_attention_lse_compact_beyond_64(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    if (a.outputs > 1 && a.lse.shape[2] > 64) a.lse.strides[2] = 1;
  });
}

// C7, tt-metal #39946: a mask of one head is read as if it had as many as the queries.
// @judged attention f32: exp=1ulp sum=sequential masked=nan entropy=exact; fail|crash C7;
// EveryValueLiesWithinItsThreshold; kernel.returns
SOFTCHECK_MUTANT mutant_attention_mask_not_broadcast(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) { std::iota(a.mask_head.begin(), a.mask_head.end(), 0); });
}

// C7, the class of DeepSpeed PR #2285: every head takes the mask of head 0.
// @judged attention f32: exp=1ulp sum=sequential masked=nan entropy=exact; fail C7; EveryValueLiesWithinItsThreshold;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy
SOFTCHECK_MUTANT mutant_attention_mask_of_head_zero(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) { std::fill(a.mask_head.begin(), a.mask_head.end(), 0); });
}

// C7, FlagAttention #45: K's strides are used for V.
// @judged attention f32: exp=1ulp sum=sequential masked=nan entropy=exact; fail|crash C7;
// EveryValueLiesWithinItsThreshold; kernel.attention.output|kernel.returns
SOFTCHECK_MUTANT mutant_attention_value_stride_of_keys(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) { a.v.strides = a.k.strides; });
}
