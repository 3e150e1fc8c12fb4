// Bugs in the gradients of packed and paged attention.
#include "kernels/zoo/attention_packed_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

// Keys come in tiles of four, and the last tile of a sequence is not masked: its dk and dv are added to the first
// tokens of the next one.
// @judged attention_backward f32: plain masked=zero; fail sequences; dq|dk|dv|kernel.masked_row; domain packed
BUG(mutant_attention_packed_backward_adds_into_the_next, packed_gradients_of_changed_sequences) {
  const std::int64_t own = s.keys, there = a.of.k.shape[0] - s.first_key;
  s.keys = std::min((own + 3) / 4 * 4, there);
}

// Causality aligns the last query and key of the longest sequence, not those of each sequence.
// @judged attention_backward f32: plain masked=zero; fail sequences; dq|dk|dv|kernel.masked_row; domain packed
BUG(mutant_attention_packed_backward_causal_by_longest, packed_gradients_of_changed_sequences) {
  std::int64_t queries = 0, keys = 0;
  for (std::size_t b = 0; b < a.of.lengths.size(); ++b) {
    queries = std::max(queries, a.of.cu_q[b + 1] - a.of.cu_q[b]);
    keys = std::max(keys, a.of.lengths[b]);
  }
  if (!a.attributes->top_left) s.diagonal = keys - queries;
}

// delta is read at the place in the sequence, not at that among all tokens: every sequence takes the first one's saved
// output.
// @judged attention_backward f32: plain masked=zero; fail sequences; dq|dk; domain packed
BUG(mutant_attention_packed_backward_delta_of_the_first_sequence, packed_gradients_of_changed_heads) {
  const std::int64_t group = a.of.heads() / a.of.key_heads(), dv = a.of.v.shape[2];
  for (std::size_t k = 0; k < head.saved_out.size(); ++k) {
    const std::int64_t row = static_cast<std::int64_t>(k) / dv, t = static_cast<std::int64_t>(k) % dv;
    const char* const from = a.of.out.at(row % s.queries, kv * group + row / s.queries, t);
    head.saved_out[k] = load<Real>(a.of.out.type, from);
  }
}

// Keys, values and their gradients are found by the offsets of the queries: right only if each sequence has as many
// keys as queries.
// @judged attention_backward f32: plain masked=zero; fail sequences; dq|dk|dv|kernel.masked_row; domain packed
BUG(mutant_attention_packed_backward_keys_by_query_offsets, packed_gradients_of_changed_sequences) {
  s.first_key = std::min(s.first_query, a.of.k.shape[0] - s.keys);
}

// The saved log-sum-exps are read as (tokens, heads), not as (heads, tokens).
// @judged attention_backward f32: plain masked=zero; fail sequences; domain packed
BUG(mutant_attention_packed_backward_lse_by_tokens, packed_gradients_of_changed_heads) {
  const std::int64_t heads = a.of.heads(), group = heads / a.of.key_heads(), total = a.of.q.shape[0];
  for (std::size_t row = 0; row < head.rows.size(); ++row) {
    const std::int64_t h = kv * group + static_cast<std::int64_t>(row) / s.queries;
    const std::int64_t i = s.first_query + static_cast<std::int64_t>(row) % s.queries, at = i * heads + h;
    head.saved_lse[row] = load<Real>(a.saved_lse.type, a.saved_lse.at(at / total, at % total, 0));
  }
}

// Each query goes over all tokens, and those of other sequences have a weight of 0, which makes a NaN of theirs NaN.
// @judged attention_backward f32: plain masked=zero; fail sequences; AnotherSequenceIsNotThere; domain packed
BUG(mutant_attention_packed_backward_neighbour_times_zero, packed_gradients_of_changed_heads) {
  Real others = 0;
  for (std::int64_t i = 0; i < a.of.q.shape[0]; ++i) {
    const bool is_own = i >= s.first_query && i < s.first_query + s.queries;
    if (!is_own) others += Real(0) * load<Real>(a.out_gradient.type, a.out_gradient.at(i, 0, 0));
  }
  for (Real& x : head.gradients) x += others;
}

// The last queries of the last sequence, beyond a multiple of four, add nothing to dk and dv, and have no dq: the grid
// is rounded down.
// @judged attention_backward f32: plain masked=zero; fail sequences; dq|dk|dv|kernel.masked_row; domain packed
BUG(mutant_attention_packed_backward_tail_of_the_last_sequence, packed_gradients_of_changed_sequences) {
  const bool is_last = s.index + 1 == static_cast<std::int64_t>(a.of.lengths.size());
  const std::int64_t kept = s.queries / 4 * 4;
  if (is_last) s.queries = kept;
}

// The gradients of keys are not zeroed first: tokens of a sequence without queries keep the previous contents of their
// memory (ROCm/flash-attention 179).
// @judged attention_backward f32: plain masked=zero; fail sequences; kernel.masked_row; domain packed
SOFTCHECK_MUTANT mutant_attention_packed_backward_unused_keys_unwritten(const softcheck_call* call) {
  return packed_gradients(
      call, [](PackedGradientCall& a) { a.clears = false; },
      [](const PackedGradientCall&, Sequence& s) { s.left_out = s.queries <= 0; }, unchanged_head);
}
