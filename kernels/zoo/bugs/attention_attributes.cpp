// Bugs in the attributes of attention.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

// mlx 2835: the distance is |i - j|, without the query's offset among the keys.
// @judged attention f32: plain; fail attributes; domain alibi
BUG(mutant_attention_alibi_from_first_query, attend_changed_attributed_rows) {
  row.place -= asked->inputs[1]->shape[2] - asked->inputs[0]->shape[2];
}

// A query head has the slope of its key head.
// @judged attention f32: plain; fail attributes; domain alibi
BUG(mutant_attention_alibi_of_key_head, attend_changed) { a.slope_head = a.plain.key_head; }

// attention-gym 86: the slope times the distance is added.
// @judged attention f32: plain; fail attributes; domain alibi
BUG(mutant_attention_alibi_sign, attend_changed_attributed_rows) { row.slope = -row.slope; }

// CUTLASS 2336: causality always aligns the last query with the last key.
// @judged attention f32: plain; fail attributes; output|lse|entropy|kernel.masked_row; domain causal=either
BUG(mutant_attention_alignment_ignored, attend_changed) { a.plain.diagonal = a.plain.keys - a.plain.q.shape[2]; }

// Bottom-right and top-left swapped.
// @judged attention f32: plain; fail attributes; AttributesAreComputedAsDefined|EveryValueLiesWithinItsThreshold;
// output|lse|entropy|kernel.masked_row; domain causal=either
BUG(mutant_attention_alignment_swapped, attend_changed) {
  a.plain.diagonal = a.top_left ? a.plain.keys - a.plain.q.shape[2] : 0;
}

// Every batch has the bias of batch 0.
// @judged attention f32: plain; fail attributes; domain bias
BUG(mutant_attention_bias_of_batch_0, attend_changed) {
  if (a.bias) a.bias->strides[0] = 0;
}

// Every head has the bias of head 0.
// @judged attention f32: plain; fail attributes; domain bias
BUG(mutant_attention_bias_of_first_head, attend_changed) { std::ranges::fill(a.bias_head, 0); }

// The bias is added before the scale.
// @judged attention f32: plain; fail attributes; domain bias
BUG(mutant_attention_bias_scaled, attend_changed_attributed_rows) {
  for (Real& x : row.bias) x *= row.scale;
}

// The bias is read as if it were compact.
// @judged attention f32: plain; fail attributes; AttributesReachEveryLayoutAndNeighbour; domain bias
BUG(mutant_attention_bias_taken_as_compact, attend_changed) {
  if (!a.bias) return;
  std::int64_t step = 1;
  for (std::size_t d = 4; d-- > 0; step *= a.bias->shape[d]) a.bias->strides[d] = step;
}

// TransformerEngine 3551: the sink is not there; hidden wherever it is far below the scores.
// @judged attention f32: plain; fail attributes; domain sinks
BUG(mutant_attention_sink_dropped, attend_changed) { a.sinks.reset(); }

// The sink is counted in the output: its weight multiplies the last value.
// @judged attention f32: plain; fail attributes; domain sinks
BUG(mutant_attention_sink_in_output, attend_attributed) {
  const std::vector<Real> x = scores_by(row, usual_score);
  finish_attributed(row, x);
  if (!row.sink || row.items() == 0) return;
  Real m = largest(x);
  if (std::isnan(m)) return;
  m = std::max(m, *row.sink);
  Real sum = std::exp(*row.sink - m);
  for (const Real score : x) sum += score == lowest<Real> ? 0 : std::exp(score - m);
  const std::size_t size = row.out.size(), last = (row.items() - 1) * size;
  for (std::size_t c = 0; c < size; ++c) row.out[c] += std::exp(*row.sink - m) / sum * row.values[last + c];
}

// The log-sum-exp leaves the sink out.
// @judged attention f32: plain; fail attributes; domain sinks
BUG(mutant_attention_sink_missing_in_lse, attend_attributed) {
  const std::vector<Real> x = scores_by(row, usual_score);
  finish_attributed(row, x);
  AttributedRow<Real> keys = row;
  keys.sink.reset();
  finish_attributed(keys, x);
  row.lse = keys.lse;
}

// Every head has the sink of head 0.
// @judged attention f32: plain; fail attributes; domain sinks
BUG(mutant_attention_sink_of_first_head, attend_changed) { std::ranges::fill(a.sink_head, 0); }

// FlashAttention 2752: the maximum leaves the sink out, so that a sink of 100 overflows.
// @judged attention f32: plain; fail attributes; domain sinks
BUG(mutant_attention_sink_without_maximum, attend_attributed) {
  const std::vector<Real> x = scores_by(row, usual_score);
  const Real m = largest(x);
  if (m == lowest<Real>) return finish_attributed(row, x);
  State<Real> s = accumulate<Real>(row, x, m);
  if (row.sink) s.weights += std::exp(*row.sink - m);
  finish<Real>(row, s);
}

// The softcap is applied to the bias, too.
// @judged attention f32: plain; fail attributes; domain softcap bias
BUG(mutant_attention_softcap_after_bias, attend_by_scores) {
  const Real x = score<Real>(row, j);
  return row.visible[j] == 0 ? x : capped(x + shift(row, j), row.softcap);
}

// Softcap after the mask: a masked score of -inf becomes -softcap, and is seen.
// @judged attention f32: plain; fail attributes; output|lse|entropy|kernel.masked_row; domain softcap
BUG(mutant_attention_softcap_after_mask, attend_by_scores) {
  if (row.visible[j] != 0 || row.softcap == 0) return attributed_score(row, j);
  return capped(lowest<Real>, row.softcap) + shift(row, j);
}

// The cap holds q k, and the scale follows it.
// @judged attention f32: plain; fail attributes; domain softcap
BUG(mutant_attention_softcap_before_scale, attend_by_scores) {
  const Real x = score<Real>(row, j);
  if (row.visible[j] == 0 || row.softcap == 0 || row.scale == 0) return attributed_score(row, j);
  return row.scale * capped(x / row.scale, row.softcap) + shift(row, j);
}

// A clamp in place of the cap.
// @judged attention f32: plain; fail attributes; domain softcap
BUG(mutant_attention_softcap_clamps, attend_by_softcap) { return std::clamp(x, -row.softcap, row.softcap); }

// Later calls use the softcap of the first call that has one.
// @judged attention f32: plain; fail attributes; EarlierAttributesDoNotMatter|AttributesAreComputedAsDefined; domain
// softcap
BUG(mutant_attention_softcap_of_first_call, attend_changed) {
  static double first = 0;
  if (first == 0) first = a.softcap;
  if (a.softcap != 0) a.softcap = first;
}

// tanh(x) = x - x^3 / 3 below 1/8: an error of 2 x^4 / 15.
// @judged attention f32: plain; fail attributes; domain softcap
BUG(mutant_attention_softcap_tanh_of_degree_three, attend_by_softcap) {
  const Real a = x / row.softcap, small = a - a * a * a / 3;
  return row.softcap * (std::abs(a) < Real(0.125) ? small : std::tanh(a));
}

// FlashAttention PR 2402: s tanh(s / softcap).
// @judged attention f32: plain; fail attributes; domain softcap
BUG(mutant_attention_softcap_times_score, attend_by_softcap) { return x * std::tanh(x / row.softcap); }

// mlxcel 408: a query whose window contains no key gives NaN; the contract, and the kernel for other rows, has zero.
// @judged attention f32: plain masked=zero; fail attributes; kernel.masked_row; domain window
BUG(mutant_attention_window_blind_rows_nan, attend_attributed) {
  const auto none = [](const std::vector<std::uint8_t>& seen) { return std::ranges::count(seen, 1) == 0; };
  const bool by_window = none(row.visible) && !none(row.without_window);
  finish_attributed(row, scores_by(row, usual_score), by_window ? not_a_number<Real> : Real(0));
}

// The block of 16 keys in which the window begins is skipped, as if no query of the tile saw it.
// @judged attention f32: plain; fail attributes; output|lse|entropy|kernel.masked_row; domain window
BUG(mutant_attention_window_block_skipped, attend_changed_attributed_rows) {
  const std::size_t first = row.window_begin, end = (first + 15) / 16 * 16;
  for (std::size_t j = first; j < std::min(row.items(), end); ++j) row.visible[j] = 0;
}

// Transformers 39408, tokenspeed 578: sliding_window counts the query's own key, so that one key less is seen.
// @judged attention f32: plain; fail attributes; output|lse|entropy|kernel.masked_row; domain window
BUG(mutant_attention_window_counts_its_own, attend_changed) { a.left = a.left > 0 ? a.left - 1 : a.left; }

// mlx 2835, onnx 8068: the window counts from the query's number, not from its position among the keys.
// @judged attention f32: plain; fail attributes; output|lse|entropy|kernel.masked_row; domain window
BUG(mutant_attention_window_from_first_query, attend_changed) {
  // The window moves by the diagonal: the query's position is taken without it.
  if (a.left >= 0) a.left = std::max<std::int64_t>(0, a.left + a.plain.diagonal);
  if (a.right >= 0) a.right = std::max<std::int64_t>(0, a.right - a.plain.diagonal);
}

// Transformers 41228, mlx-lm 390: one key more to the left.
// @judged attention f32: plain; fail attributes; output|lse|entropy|kernel.masked_row; domain window
BUG(mutant_attention_window_left_one_more, attend_changed) {
  if (a.left >= 0) ++a.left;
}

// LightLLM 1311: right = W - 1.
// @judged attention f32: plain; fail attributes; output|lse|entropy|kernel.masked_row; domain window
BUG(mutant_attention_window_right_is_exclusive, attend_changed) {
  if (a.right > 0) --a.right;
}

// sglang 26147: one key more to the right.
// @judged attention f32: plain; fail attributes; output|lse|entropy|kernel.masked_row; domain window
BUG(mutant_attention_window_right_one_more, attend_changed) {
  if (a.right >= 0) ++a.right;
}

// Window left and right swapped.
// @judged attention f32: plain; fail attributes; output|lse|entropy|kernel.masked_row; domain window
BUG(mutant_attention_window_swapped, attend_changed) { std::swap(a.left, a.right); }

// Values outside the window are multiplied by a weight of 0: 0 NaN is NaN.
// @judged attention f32: plain; fail attributes; AKeyBesideTheWindowIsNotThere; output|lse|entropy|kernel.masked_row;
// domain window
BUG(mutant_attention_window_times_zero, attend_attributed) {
  finish_attributed(row, scores_by(row, usual_score));
  const std::size_t size = row.out.size();
  for (std::size_t j = 0; j < row.items(); ++j) {
    if (row.visible[j] == row.without_window[j]) continue;
    for (std::size_t c = 0; c < size; ++c) row.out[c] += 0 * row.values[j * size + c];
  }
}

// The softmax's sum has only the kept weights: the dropout comes first.
// @judged attention f32: plain; fail attributes; domain dropout
BUG(mutant_attention_dropout_before_sum, attend_changed_weights) {
  Real mass = 0;
  for (std::size_t j = 0; j < p.size(); ++j) mass += dropout_factor(row, j) == 0 ? 0 : p[j];
  for (std::size_t j = 0; j < p.size(); ++j) p[j] *= mass == 0 ? 0 : dropout_factor(row, j) / mass;
}

// All heads have the dropout of the first one.
// @judged attention f32: plain; fail attributes; domain dropout
BUG(mutant_attention_dropout_of_first_head, attend_changed) {
  if (a.kept) a.kept->strides[1] = 0;
}

// The weights of a row with a dropout are divided by their sum instead of multiplied by the scale.
// @judged attention f32: plain; fail attributes; domain dropout
BUG(mutant_attention_dropout_renormalised, attend_changed_weights) {
  Real mass = 0;
  for (std::size_t j = 0; j < p.size(); ++j) mass += p[j] *= dropout_factor(row, j);
  for (Real& weight : p) weight /= row.kept.empty() || mass == 0 ? 1 : mass;
}

// Dropped weights are 0, and the others stay.
// @judged attention f32: plain; fail attributes; domain dropout
BUG(mutant_attention_dropout_scale_forgotten, attend_changed_attributed_rows) { row.dropout_scale = 1; }

// Each key has the dropout of the key behind it.
// @judged attention f32: plain; fail attributes; domain dropout
BUG(mutant_attention_dropout_shifted, attend_changed_attributed_rows) {
  if (!row.kept.empty()) std::rotate(row.kept.begin(), row.kept.begin() + 1, row.kept.end());
}

// Queries are rounded to the cache's format before the product, as ggml does with F16 keys.
// @judged attention f32: plain; fail C2; output|lse|entropy; domain cache=f16
BUG(mutant_attention_query_as_cached, attend) {
  for (Real& x : row.query) x = static_cast<Real>(rounded_to_f16(static_cast<float>(x)));
  attend_two_pass(row);
}

// A window wider than a block of 128 keys has one key too many from the second block of 64 queries on.
// @judged attention f32: plain; fail attributes; LongRowsHaveTheirAttributes; domain window
BUG(mutant_attention_window_of_blocks, attend_changed) {
  if (a.left >= 128 && a.plain.q.shape[2] > 64) ++a.left;
}

// The sink is left out where the keys have a second block.
// @judged attention f32: plain; fail attributes; LongRowsHaveTheirAttributes; domain sinks
BUG(mutant_attention_sink_of_first_block, attend_changed) {
  if (a.plain.keys > 128) a.sinks.reset();
}

// The slopes are 1 % too large where the keys have a second block.
// @judged attention f32: plain; fail attributes; LongRowsHaveTheirAttributes; domain alibi
BUG(mutant_attention_alibi_of_first_block, attend_changed_attributed_rows) {
  if (row.items() > 128) row.slope *= Real(1.01);
}

// The second tile of queries: with a causal window and more than 64 queries one key too many is visible.
// @judged attention f32: plain; fail attributes; LongRowsHaveTheirAttributes|EveryPairOfClassesIsComputed; domain
// window
BUG(mutant_attention_causal_window_of_second_tile, attend_changed) {
  if (a.left >= 0 && a.plain.causal && a.plain.q.shape[2] > 64) a.left += 1;
}
