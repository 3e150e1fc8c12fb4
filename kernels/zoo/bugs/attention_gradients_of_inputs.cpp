// Bugs in the gradients of attention: attributes, bias, sinks, packed and paged sequences.
#include "kernels/zoo/attention_gradients.hpp"
#include "kernels/zoo/attention_packed_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

// ALiBi is added where the forward pass subtracted it.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; domain alibi
GRADIENT_BUG(mutant_attention_backward_alibi_sign, Real, probability(std::size_t i, std::size_t j) const) {
  AttributedRow<Real> row = head.rows[i];
  row.slope = -row.slope;
  return std::exp(attributed_score(row, j) - head.saved_lse[i]);
}

// The bias that the forward pass added is not added again.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; domain bias
GRADIENT_BUG(mutant_attention_backward_bias_left_out, Real, probability(std::size_t i, std::size_t j) const) {
  AttributedRow<Real> row = head.rows[i];
  row.bias.clear();
  return std::exp(attributed_score(row, j) - head.saved_lse[i]);
}

// Causal with other lengths aligns the first query with the first key: the forward pass aligned the last ones
// (ml-explore/mlx 2835).
// @judged attention_backward f32: plain masked=zero; fail gradient; EveryPairOfClassesIsComputed;
// dq|dk|dv|kernel.masked_row
BUG(mutant_attention_backward_causal_top_left, gradients_of_changed_call) { a.of.plain.diagonal = 0; }

// The sum is computed again, and the sink is not in it (NVIDIA/TransformerEngine 3551 drops it in the backward pass).
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; domain sinks
GRADIENT_BUG(mutant_attention_backward_sink_not_in_sum, Real, probability(std::size_t i, std::size_t j) const) {
  const std::vector<Real> x = scores_by(head.rows[i], usual_score);
  const Real m = largest(x);
  Real sum = 0;
  for (const Real score : x) sum += std::exp(score - m);
  return std::exp(x[j] - m) / sum;
}

// The gradient goes past the softcap as if it were not there.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dq|dk; domain
// softcap
GRADIENT_BUG(mutant_attention_backward_softcap_slope_left_out, Real,
             score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const) {
  return p * (this->product(i, j) - own_delta);
}

// 1 - y^2 of the capped score y itself, not of y / softcap.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dq|dk; domain
// softcap
GRADIENT_BUG(mutant_attention_backward_softcap_slope_of_capped, Real,
             score_gradient(std::size_t i, std::size_t j, Real p, Real own_delta) const) {
  const AttributedRow<Real>& row = head.rows[i];
  const Real y = row.softcap == 0 ? 0 : capped(score<Real>(row, j), row.softcap);
  return p * (this->product(i, j) - own_delta) * (1 - y * y);
}

// The softcap is 1 % too large where there is a second block of 128 keys.
// @judged attention_backward f32: plain masked=zero; fail gradient; LongRowsHaveTheirAttributes; dq|dk|dv; domain
// softcap
BUG(mutant_attention_backward_softcap_of_long_rows, gradients_of_changed_call) {
  if (a.of.plain.keys > 128) a.of.softcap *= 1.01;
}

// Coefficients are rounded to bf16 for dv, and the contract does not allow it.
// @judged attention_backward f32: plain masked=zero; fail gradient; dv
GRADIENT_BUG(mutant_attention_backward_weights_without_word, Real, stored_weight(Real p) const) {
  return rounded_to_bf16(static_cast<float>(p));
}

// The forward pass has the window, its gradient does not.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined;
// dq|dk|dv|kernel.masked_row; domain window
BUG(mutant_attention_backward_window_ignored, gradients_of_changed_call) { a.of.left = a.of.right = -1; }

// The gradient's window does not count the query's own key, and so is one key wider.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined;
// dq|dk|dv|kernel.masked_row; domain window
BUG(mutant_attention_backward_window_one_key_more, gradients_of_changed_call) {
  if (a.of.left >= 0) ++a.of.left;
}

// The sum over heads that share a bias is stored in 16 bits.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dbias; domain dbias
GRADIENT_BUG(mutant_attention_backward_dbias_added_in_sixteen_bits, void, add_bias(std::size_t i, Real* sums) const) {
  const Real own_delta = this->delta(i);
  for (std::size_t j = 0; j < head.items; ++j) {
    if (!this->sees(i, j)) continue;
    const Real term = this->bias_term(i, j, this->probability(i, j), own_delta);
    sums[j] = rounded_to_bf16(static_cast<float>(sums[j] + term));
  }
}

// The gradient by the bias has its sign lost.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dbias; domain dbias
GRADIENT_BUG(mutant_attention_backward_dbias_negated, Real,
             bias_term(std::size_t i, std::size_t j, Real p, Real own_delta) const) {
  return p * (own_delta - this->product(i, j));
}

// Keys that the mask hides get a gradient by the bias, too: p is not masked again.
// @judged attention_backward f32: plain masked=zero; fail gradient; AKeyBesideTheWindowIsNotThere; kernel.masked_row;
// domain dbias window
GRADIENT_BUG(mutant_attention_backward_dbias_of_hidden_keys, void, add_bias(std::size_t i, Real* sums) const) {
  bool any = false;
  for (std::size_t j = 0; j < head.items; ++j) any = any || this->sees(i, j);
  const Real own_delta = this->delta(i);
  for (std::size_t j = 0; j < head.items && any; ++j) {
    sums[j] += this->bias_term(i, j, this->probability(i, j), own_delta);
  }
}

// Every batch writes its gradient by the bias to the place of the first one: the address leaves the batch out, and the
// last one stays. The places of other batches keep the previous contents of their memory.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dbias; domain dbias
BUG(mutant_attention_backward_dbias_of_the_last_batch, gradients_of_changed_call) {
  if (a.dbias) a.dbias->strides[0] = 0;
}

// A bias that heads share gets the gradient of the last head: each head stores its own instead of adding it (the class
// of flash-sparse-attention 199).
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dbias; domain dbias
GRADIENT_BUG(mutant_attention_backward_dbias_of_the_last_head, void, add_bias(std::size_t i, Real* sums) const) {
  const Real own_delta = this->delta(i);
  for (std::size_t j = 0; j < head.items; ++j) {
    sums[j] = this->sees(i, j) ? this->bias_term(i, j, this->probability(i, j), own_delta) : 0;
  }
}

// The gradient by the bias is p: the softmax, not its gradient.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dbias; domain dbias
GRADIENT_BUG(mutant_attention_backward_dbias_of_the_saved_softmax, Real,
             bias_term(std::size_t, std::size_t, Real p, Real) const) {
  return p;
}

// The gradient by the bias is multiplied by the softcap's slope, although the bias is added after the softcap.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dbias; domain dbias
// softcap
GRADIENT_BUG(mutant_attention_backward_dbias_through_the_cap, Real,
             bias_term(std::size_t i, std::size_t j, Real p, Real own_delta) const) {
  return this->score_gradient(i, j, p, own_delta);
}

// The gradient by the bias is p g: delta is not subtracted.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dbias; domain dbias
GRADIENT_BUG(mutant_attention_backward_dbias_without_delta, Real,
             bias_term(std::size_t i, std::size_t j, Real p, Real) const) {
  return p * this->product(i, j);
}

// Partial sums of the gradient by a sink are of 16 bits, as blocks of threads hand them on.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dsinks; domain
// dsinks
GRADIENT_BUG(mutant_attention_backward_dsinks_added_in_sixteen_bits, void, add_sink(std::size_t g, Real& sum) const) {
  for (std::size_t i = g * head.queries; i < (g + 1) * head.queries; ++i) {
    sum = rounded_to_bf16(static_cast<float>(sum + this->sink_term(i)));
  }
}

// The gradient by a sink has its sign lost: p_sink delta in place of -p_sink delta.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dsinks; domain
// dsinks
GRADIENT_BUG(mutant_attention_backward_dsinks_negated, Real, sink_term(std::size_t i) const) {
  return this->sink_probability(i) * this->delta(i);
}

// A query that sees no key is counted with the previous query's delta: the kernel leaves the row before it computes
// delta, and the row's p_sink is 1.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dsinks; domain
// dsinks window
GRADIENT_BUG(mutant_attention_backward_dsinks_of_blind_queries, Real, sink_term(std::size_t i) const) {
  bool any = false;
  for (std::size_t j = 0; j < head.items; ++j) any = any || this->sees(i, j);
  return -(this->sink_probability(i) * this->delta(!any && i > 0 ? i - 1 : i));
}

// The gradient by a sink is summed over the queries of the first head of its group, as kernels do that launch a block
// for each key head.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dsinks; domain
// dsinks
GRADIENT_BUG(mutant_attention_backward_dsinks_of_the_groups_first_head, void, add_sink(std::size_t, Real& sum) const) {
  Gradients<Real>::add_sink(0, sum);
}

// The gradient by a sink is not summed over the batch: each batch writes its own over the one before.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dsinks; domain
// dsinks
GRADIENT_BUG(mutant_attention_backward_dsinks_of_the_last_batch, void, add_sink(std::size_t g, Real& sum) const) {
  sum = 0;
  Gradients<Real>::add_sink(g, sum);
}

// In the gradient by the sink only, the sink is scaled like a score before its exponential is taken.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dsinks; domain
// dsinks
GRADIENT_BUG(mutant_attention_backward_dsinks_scaled, Real, sink_probability(std::size_t i) const) {
  return std::exp(head.rows[i].scale * *head.rows[i].sink - head.saved_lse[i]);
}

// The gradient by a sink is minus the sum of p_sink: delta is left out, which a loss that is the sum of outputs of 1
// hides.
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dsinks; domain
// dsinks
GRADIENT_BUG(mutant_attention_backward_dsinks_without_delta, Real, sink_term(std::size_t i) const) {
  return -this->sink_probability(i);
}

// The gradient by a sink is 0, as the backward pass ignores the sink (NVIDIA/TransformerEngine 3551).
// @judged attention_backward f32: plain masked=zero; fail gradient; AttributesAreComputedAsDefined; dsinks; domain
// dsinks
GRADIENT_BUG(mutant_attention_backward_dsinks_zero, Real, sink_term(std::size_t) const) { return 0; }

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
