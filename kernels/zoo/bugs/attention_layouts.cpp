// Bugs of attention: layouts, indices and memory.
#include <numeric>
#include <utility>

#include "kernels/zoo/attention_places.hpp"
#include "kernels/zoo/attention_states.hpp"

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

// C15, the class of CUDA.jl #599: K is read as (batch, length, heads, dim), whatever its strides are.
// @judged attention f16: plain entropy=exact; fail|crash C15
BUG(mutant_attention_heads_for_lengths, attend_changed_call) {
  a.k.strides[1] = a.k.shape[3];
  a.k.strides[2] = a.k.shape[1] * a.k.shape[3];
}

// C15, the class of ONNX Runtime #25402: the mask's axes are swapped, which the shapes allow if there are as many keys
// as queries.
// @judged attention f32: plain entropy=exact; fail C15
BUG(mutant_attention_mask_transposed, attend_changed_call) {
  if (a.mask.shape[2] == a.mask.shape[3]) std::swap(a.mask.strides[2], a.mask.strides[3]);
}

// C6: the number of a batch is stored in two bits.
// @judged attention f32: plain entropy=exact; fail C6; EveryPairOfClassesIsComputed; output|lse|entropy|kernel.nan_row
BUG(mutant_attention_batch_in_two_bits, attend_changed_rows) { take_query_of(a, {at.b & 3, at.h, at.i}, row); }

// C6: head numbers wrap after sixteen query heads.
// @judged attention f32: plain entropy=exact; fail C6; EveryPairOfClassesIsComputed
BUG(mutant_attention_head_in_four_bits, attend_changed_rows) { take_query_of(a, {at.b, at.h & 15, at.i}, row); }

// C6, FlexAttention in PyTorch #190857, vLLM #50427: offsets into V are stored in 32 bits.
// @judged attention f16: plain entropy=exact; fail|crash C6; StridesBeyondAnIntegerAreFollowed;
// kernel.returns|output|lse|entropy
BUG(mutant_attention_int_offset, attend_changed_call) {
  a.v.offset = [](std::int64_t offset) { return static_cast<std::int64_t>(static_cast<std::int32_t>(offset)); };
}

// C6: the number of a key is stored in sixteen bits.
// @judged attention f32: plain entropy=exact; fail C6; EveryPairOfClassesIsComputed
BUG(mutant_attention_key_in_sixteen_bits, attend_changed_rows) {
  take_keys_of(row, 65536, [](std::size_t j) { return j & 65535; });
}

// C6: the number of a key is stored in twelve bits.
// @judged attention f32: plain entropy=exact; fail C6; EveryPairOfClassesIsComputed; witness 4097
BUG(mutant_attention_key_in_twelve_bits, attend_changed_rows) {
  take_keys_of(row, 4096, [](std::size_t j) { return j & 4095; });
}

// C6: the loop over keys ends at 65536.
// @judged attention f32: plain entropy=exact; fail C6; EveryPairOfClassesIsComputed
BUG(mutant_attention_keys_from_65536, attend_changed_call) { a.keys = a.keys > 65536 ? 65536 : a.keys; }

// C6: a grid of 512 blocks of queries; queries from 512 on are those from 0 on.
// @judged attention f32 bf16: plain entropy=exact; fail C6; EveryPairOfClassesIsComputed; witness 513
BUG(mutant_attention_queries_from_512, attend_changed_rows) {
  if (at.i >= 512) take_query_of(a, {at.b, at.h, at.i - 512}, row);
}

// C6: the number of a query is stored in eight bits.
// @judged attention f32: plain entropy=exact; fail C6; EveryPairOfClassesIsComputed; witness 257
BUG(mutant_attention_query_in_eight_bits, attend_changed_rows) { take_query_of(a, {at.b, at.h, at.i & 255}, row); }

// C6: the number of a query is stored in ten bits.
// @judged attention f32: plain entropy=exact; fail C6; EveryPairOfClassesIsComputed; witness 1025
BUG(mutant_attention_query_in_ten_bits, attend_changed_rows) { take_query_of(a, {at.b, at.h, at.i & 1023}, row); }

// C6, the class of FlashAttention PR #2260, at a size that any test can afford: the offset of a key wraps at 2^16.
// @judged attention bf16: plain entropy=exact; fail|crash C6; LayoutsAndNeighboursDoNotMatter
BUG(mutant_attention_short_offset, attend_changed_call) {
  a.k.offset = [](std::int64_t offset) { return static_cast<std::int64_t>(static_cast<std::uint16_t>(offset)); };
}

// C16, the "104x" softmax that read garbage: O starts from the previous contents of the output's memory.
// @judged attention f64: plain entropy=exact; fail C16; output
BUG(mutant_attention_accumulator_uninitialised, attend) {
  const auto x = scores(row);
  State<Real> s = accumulate(row, x, largest(x));
  for (std::size_t c = 0; c < row.out.size(); ++c) s.values[c] += row.out[c];
  finish(row, s);
}

// C16, FlashAttention #1778: causal, more queries than keys: the loop over blocks never runs for the first queries, and
// their rows are not written.
// @judged attention bf16: plain entropy=exact; fail C16; AFullyMaskedRowIsAsDeclared
BUG(mutant_attention_blind_rows_unwritten, attend) {
  if (largest(scores(row)) != lowest<Real>) attend_two_pass(row);
}

// C16, tilelang PR #2461: the log-sum-exp of a row without keys is never written.
// @judged attention f32: plain entropy=exact; fail C16; AFullyMaskedRowIsAsDeclared
BUG(mutant_attention_masked_lse_unwritten, attend) {
  const Real before = row.lse;
  attend_two_pass(row);
  if (row.lse == lowest<Real>) row.lse = before;
}

// C16, the class of FlashInfer #4051: the parts of a split are in a workspace. A part without visible keys is not
// written, and the merge reads an earlier query's part.
// @judged attention f32: plain entropy=exact; fail C16
BUG(mutant_attention_stale_workspace, attend) {
  static std::vector<State<Real>> workspace(4, State<Real>(0));
  State<Real> all(row.out.size());
  for (std::size_t k = 0; k < 4; ++k) {
    State<Real> part = online(row, k * row.items() / 4, (k + 1) * row.items() / 4);
    if (part.weights != 0) workspace[k] = part;
    workspace[k].values.resize(row.out.size());
    all = merged(all, workspace[k]);
  }
  finish(row, all);
}

// C14, FlashAttention PR #2470: divides by the size of the keys' rows. On aarch64 a quotient by 0 is 0, so the mutant
// ends its process itself.
// @judged attention f32: plain entropy=exact; crash C14; AnEmptyCallHasItsValues
BUG(mutant_attention_zero_keys_crashes, attend_changed_call) {
  const volatile std::int64_t row = a.keys;
  const volatile std::int64_t rows_in_cache = (std::int64_t{1} << 20) / row;
  static_cast<void>(rows_in_cache);
  if (row == 0) __builtin_trap();
}

// C14, FlashAttention PR #2568: waits for the first block of keys, which with no keys never comes.
// @judged attention f32: plain entropy=exact; timeout C14; AnEmptyCallHasItsValues
BUG(mutant_attention_zero_keys_hangs, attend_changed_call) {
  const volatile bool arrived = a.keys > 0;
  while (!arrived) {
  }
}

// C14, the class of FlashAttention PR #2470: no keys, and the kernel returns at once, with nothing written.
// @judged attention f16: plain entropy=exact; fail C14; AnEmptyCallHasItsValues
BUG(mutant_attention_zero_keys_unwritten, attend) {
  if (row.items() > 0) attend_two_pass(row);
}

// C8, the class of llama.cpp #26385: one barrier too few before the merge: the last of four parts is still that of the
// query before.
// @judged attention f32: plain entropy=exact; fail C8
BUG(mutant_attention_missing_barrier, attend) {
  static State<Real> last(0);
  const std::size_t begin = row.items() / 4 * 3;
  State<Real> late = std::exchange(last, online(row, begin, row.items()));
  late.values.resize(row.out.size());
  finish(row, merged(online(row, 0, begin), late));
}

// C17, KernelBench #82: the mean of V, which an absolute tolerance takes for attention where softmax disperses.
// @judged attention f32 bf16: plain entropy=exact; fail C17
BUG(mutant_attention_mean_of_values, attend_changed_rows) { std::fill(row.query.begin(), row.query.end(), Real(0)); }

// C17, pygpubench #7: every query gets the output of the previous query, also from another call.
// @judged attention f32: plain entropy=exact; fail C17
BUG(mutant_attention_previous_output, attend) {
  static std::vector<Real> previous;
  attend_two_pass(row);
  previous.resize(row.out.size());
  std::swap(previous, row.out);
}

// C17, KernelBench #82: zeros.
// @judged attention f16: plain entropy=exact; fail C17
BUG(mutant_attention_returns_zeros, attend) {
  std::fill(row.out.begin(), row.out.end(), Real(0));
  row.lse = row.entropy = 0;
}
