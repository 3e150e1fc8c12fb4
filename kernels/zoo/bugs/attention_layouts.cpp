// Bugs of attention: strides, alignment and aliasing.
#include <numeric>

#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

// C7, FlashAttention PR #2670: the distance of heads is made up from the shape, as if nothing lay between them.
// @judged attention f64: plain entropy=exact; fail|crash C7; LayoutsAndNeighboursDoNotMatter
BUG(mutant_attention_assumes_compact_heads, attend_changed_call) {
  for (View* t : {&a.q, &a.k, &a.v}) t->strides[1] = t->shape[2] * t->shape[3];
}

// C7: from query 64 on the kernel takes queries to be dim elements apart, whatever the strides are.
// @judged attention f32: plain entropy=exact; fail C7; EveryPairOfClassesIsComputed; witness 65
BUG(mutant_attention_compact_beyond_64_queries, attend_changed_rows) {
  if (at.i < 64) return;
  View wrong = a.q;
  wrong.strides[2] = wrong.shape[3] * wrong.strides[3];
  Attention compact = a;
  compact.q = wrong;
  if (wrong.strides[2] < a.q.strides[2]) take_query_of(compact, at, row);
}

// C7, attorch #14: a head is found as stride_head / stride_row rows from the first, rounded down: every head is head 0
// where rows of heads alternate.
// @judged attention f16: plain entropy=exact; fail C7; LayoutsAndNeighboursDoNotMatter
BUG(mutant_attention_head_by_division, attend_changed_call) {
  for (View* t : {&a.q, &a.k, &a.v}) {
    if (t->strides[2] > 0) t->strides[1] = t->strides[1] / t->strides[2] * t->strides[2];
  }
}

// C7, the class of rocm-libraries #11387: the byte offset of V is not looked at.
// @judged attention bf16: plain entropy=exact; fail|crash C7; LayoutsAndNeighboursDoNotMatter; output|kernel.returns
BUG(mutant_attention_ignores_value_offset, attend_changed_call) {
  a.v.first = static_cast<char*>(asked->inputs[2]->data);
}

// C7: more than 256 transposed keys are read as if they were compact.
// @judged attention f32: plain entropy=exact; fail C7; EveryPairOfClassesIsComputed; witness 257
BUG(mutant_attention_keys_transposed_beyond_256, attend_changed_call) {
  if (a.k.shape[2] <= 256 || a.k.strides[2] >= a.k.strides[3]) return;
  a.k.strides[2] = a.k.shape[3];
  a.k.strides[3] = 1;
}

// C7: the log-sum-exps of more than 64 queries are written contiguously, whatever the strides are.
// @judged attention f32: plain entropy=exact; fail C7; EveryPairOfClassesIsComputed;
// kernel.stays_inside|output|lse|entropy; witness 65
BUG(mutant_attention_lse_compact_beyond_64, attend_changed_call) {
  if (a.outputs > 1 && a.lse.shape[2] > 64) a.lse.strides[2] = 1;
}

// C7, tt-metal #39946: a mask of one head is read as if it had as many heads as the queries.
// @judged attention f32: plain entropy=exact; fail|crash C7; kernel.returns
BUG(mutant_attention_mask_not_broadcast, attend_changed_call) { std::iota(a.mask_head.begin(), a.mask_head.end(), 0); }

// C7, the class of DeepSpeed PR #2285: every head takes the mask of head 0.
// @judged attention f32: plain entropy=exact; fail C7
BUG(mutant_attention_mask_of_head_zero, attend_changed_call) { std::fill(a.mask_head.begin(), a.mask_head.end(), 0); }

// C7, FlagAttention #45: K's strides are used for V.
// @judged attention f32: plain entropy=exact; fail|crash C7; output|kernel.returns
BUG(mutant_attention_value_stride_of_keys, attend_changed_call) { a.v.strides = a.k.strides; }
