// Bugs in the attributes of attention.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

// mlx 2835: the distance is |i - j|, wherever the query stands.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain alibi
SOFTCHECK_MUTANT mutant_attention_alibi_from_first_query(const softcheck_call* call) {
  const std::int64_t diagonal = call->n_inputs < 3 ? 0 : call->inputs[1]->shape[2] - call->inputs[0]->shape[2];
  return attend_attributed(
      call,
      [&]<class Real>(AttributedRow<Real>& row) {
        row.place -= diagonal;
        finish_attributed(row, scores_by(row, usual_score));
      },
      [](AttributedCall&) {});
}

// A query head has the slope of its key head.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain alibi
SOFTCHECK_MUTANT mutant_attention_alibi_of_key_head(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) { a.slope_head = a.plain.key_head; });
}

// attention-gym 86: the slope times the distance is added.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain alibi
SOFTCHECK_MUTANT mutant_attention_alibi_sign(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        row.slope = -row.slope;
        finish_attributed(row, scores_by(row, usual_score));
      },
      [](AttributedCall&) {});
}

// CUTLASS 2336: causality always aligns the last query with the last key.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy|kernel.masked_row; domain causal=either
SOFTCHECK_MUTANT mutant_attention_alignment_ignored(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) { a.plain.diagonal = a.plain.keys - a.plain.q.shape[2]; });
}

// Bottom-right and top-left swapped.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes;
// AttributesAreComputedAsDefined|EveryValueLiesWithinItsThreshold;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy|kernel.masked_row; domain causal=either
SOFTCHECK_MUTANT mutant_attention_alignment_swapped(const softcheck_call* call) {
  return attend_changed(
      call, [](AttributedCall& a) { a.plain.diagonal = a.top_left ? a.plain.keys - a.plain.q.shape[2] : 0; });
}

// Every batch has the bias of batch 0.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain bias
SOFTCHECK_MUTANT mutant_attention_bias_of_batch_0(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) {
    if (a.bias) a.bias->strides[0] = 0;
  });
}

// Every head has the bias of head 0.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain bias
SOFTCHECK_MUTANT mutant_attention_bias_of_first_head(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) { std::ranges::fill(a.bias_head, 0); });
}

// The bias is added before the scale.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain bias
SOFTCHECK_MUTANT mutant_attention_bias_scaled(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        for (Real& x : row.bias) x *= row.scale;
        finish_attributed(row, scores_by(row, usual_score));
      },
      [](AttributedCall&) {});
}

// The bias is read as if it were compact.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesReachEveryLayoutAndNeighbour;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain bias
SOFTCHECK_MUTANT mutant_attention_bias_taken_as_compact(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) {
    if (!a.bias) return;
    std::int64_t step = 1;
    for (std::size_t d = 4; d-- > 0; step *= a.bias->shape[d]) a.bias->strides[d] = step;
  });
}

// TransformerEngine 3551: the sink is not there; hidden wherever it is far below the scores.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain sinks
SOFTCHECK_MUTANT mutant_attention_sink_dropped(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) { a.sinks.reset(); });
}

// The sink is counted in the output: its weight meets the last value.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain sinks
SOFTCHECK_MUTANT mutant_attention_sink_in_output(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
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
      },
      [](AttributedCall&) {});
}

// The log-sum-exp is that of the keys alone.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain sinks
SOFTCHECK_MUTANT mutant_attention_sink_missing_in_lse(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        const std::vector<Real> x = scores_by(row, usual_score);
        finish_attributed(row, x);
        AttributedRow<Real> keys = row;
        keys.sink.reset();
        finish_attributed(keys, x);
        row.lse = keys.lse;
      },
      [](AttributedCall&) {});
}

// Every head has the sink of head 0.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain sinks
SOFTCHECK_MUTANT mutant_attention_sink_of_first_head(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) { std::ranges::fill(a.sink_head, 0); });
}

// FlashAttention 2752: the maximum is that of the keys alone, so that a sink of 100 overflows.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain sinks
SOFTCHECK_MUTANT mutant_attention_sink_without_maximum(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        const std::vector<Real> x = scores_by(row, usual_score);
        const Real m = largest(x);
        if (m == lowest<Real>) return finish_attributed(row, x);
        State<Real> s = accumulate<Real>(row, x, m);
        if (row.sink) s.weights += std::exp(*row.sink - m);
        finish<Real>(row, s);
      },
      [](AttributedCall&) {});
}

// The cap holds the bias, too.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain softcap bias
SOFTCHECK_MUTANT mutant_attention_softcap_after_bias(const softcheck_call* call) {
  return attend_by_scores(call, []<class Real>(const AttributedRow<Real>& row, std::size_t j) {
    const Real x = score<Real>(row, j);
    return row.visible[j] == 0 ? x : capped(x + shift(row, j), row.softcap);
  });
}

// Softcap after the mask: a masked score of -inf becomes -softcap, and is seen.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy|kernel.masked_row; domain softcap
SOFTCHECK_MUTANT mutant_attention_softcap_after_mask(const softcheck_call* call) {
  return attend_by_scores(call, []<class Real>(const AttributedRow<Real>& row, std::size_t j) {
    if (row.visible[j] != 0 || row.softcap == 0) return attributed_score(row, j);
    return capped(lowest<Real>, row.softcap) + shift(row, j);
  });
}

// The cap holds q k, and the scale follows it.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain softcap
SOFTCHECK_MUTANT mutant_attention_softcap_before_scale(const softcheck_call* call) {
  return attend_by_scores(call, []<class Real>(const AttributedRow<Real>& row, std::size_t j) {
    const Real x = score<Real>(row, j);
    if (row.visible[j] == 0 || row.softcap == 0 || row.scale == 0) return attributed_score(row, j);
    return row.scale * capped(x / row.scale, row.softcap) + shift(row, j);
  });
}

// A clamp in place of the cap.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain softcap
SOFTCHECK_MUTANT mutant_attention_softcap_clamps(const softcheck_call* call) {
  return attend_by_scores(call, []<class Real>(const AttributedRow<Real>& row, std::size_t j) {
    const Real x = score<Real>(row, j);
    if (row.visible[j] == 0 || row.softcap == 0) return attributed_score(row, j);
    return std::clamp(x, -row.softcap, row.softcap) + shift(row, j);
  });
}

// The softcap of the first call that has one is kept.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes;
// EarlierAttributesDoNotMatter|AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain softcap
SOFTCHECK_MUTANT mutant_attention_softcap_of_first_call(const softcheck_call* call) {
  static double first = 0;
  return attend_changed(call, [](AttributedCall& a) {
    if (first == 0) first = a.softcap;
    if (a.softcap != 0) a.softcap = first;
  });
}

// tanh(x) = x - x^3 / 3 below 1/8: an error of 2 x^4 / 15.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain softcap
SOFTCHECK_MUTANT mutant_attention_softcap_tanh_of_degree_three(const softcheck_call* call) {
  return attend_by_scores(call, []<class Real>(const AttributedRow<Real>& row, std::size_t j) {
    const Real x = score<Real>(row, j);
    if (row.visible[j] == 0 || row.softcap == 0) return attributed_score(row, j);
    const Real a = x / row.softcap, small = a - a * a * a / 3;
    return row.softcap * (std::abs(a) < Real(0.125) ? small : std::tanh(a)) + shift(row, j);
  });
}

// FlashAttention PR 2402: s tanh(s / softcap).
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy; domain softcap
SOFTCHECK_MUTANT mutant_attention_softcap_times_score(const softcheck_call* call) {
  return attend_by_scores(call, []<class Real>(const AttributedRow<Real>& row, std::size_t j) {
    const Real x = score<Real>(row, j);
    if (row.visible[j] == 0 || row.softcap == 0) return attributed_score(row, j);
    return x * std::tanh(x / row.softcap) + shift(row, j);
  });
}

// mlxcel 408: a query whose window holds no key gives NaN where the contract, and every other row, says zero.
// @judged attention f32: exp=1ulp sum=sequential masked=zero; fail attributes; AttributesAreComputedAsDefined;
// kernel.masked_row; domain window
SOFTCHECK_MUTANT mutant_attention_window_blind_rows_nan(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        const auto none = [](const std::vector<std::uint8_t>& seen) { return std::ranges::count(seen, 1) == 0; };
        const bool by_window = none(row.visible) && !none(row.without_window);
        finish_attributed(row, scores_by(row, usual_score), by_window ? not_a_number<Real> : Real(0));
      },
      [](AttributedCall&) {});
}

// The block of 16 keys in which the window begins is skipped, as if no query of the tile saw it.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy|kernel.masked_row; domain window
SOFTCHECK_MUTANT mutant_attention_window_block_skipped(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        const std::size_t first = row.window_begin, end = (first + 15) / 16 * 16;
        for (std::size_t j = first; j < std::min(row.items(), end); ++j) row.visible[j] = 0;
        finish_attributed(row, scores_by(row, usual_score));
      },
      [](AttributedCall&) {});
}

// Transformers 39408, tokenspeed 578: sliding_window counts the query's own key, so that one key less is seen.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy|kernel.masked_row; domain window
SOFTCHECK_MUTANT mutant_attention_window_counts_its_own(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) { a.left = a.left > 0 ? a.left - 1 : a.left; });
}

// mlx 2835, onnx 8068: the window counts from the query's number, not from the key that it stands at.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy|kernel.masked_row; domain window
SOFTCHECK_MUTANT mutant_attention_window_from_first_query(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) {
    // The window's sides move by the diagonal that the query's place leaves out.
    if (a.left >= 0) a.left = std::max<std::int64_t>(0, a.left + a.plain.diagonal);
    if (a.right >= 0) a.right = std::max<std::int64_t>(0, a.right - a.plain.diagonal);
  });
}

// Transformers 41228, mlx-lm 390: one key more to the left.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy|kernel.masked_row; domain window
SOFTCHECK_MUTANT mutant_attention_window_left_one_more(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) {
    if (a.left >= 0) ++a.left;
  });
}

// LightLLM 1311: right = W - 1.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy|kernel.masked_row; domain window
SOFTCHECK_MUTANT mutant_attention_window_right_is_exclusive(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) {
    if (a.right > 0) --a.right;
  });
}

// sglang 26147: one key more to the right.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy|kernel.masked_row; domain window
SOFTCHECK_MUTANT mutant_attention_window_right_one_more(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) {
    if (a.right >= 0) ++a.right;
  });
}

// Window left and right swapped.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AttributesAreComputedAsDefined;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy|kernel.masked_row; domain window
SOFTCHECK_MUTANT mutant_attention_window_swapped(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) { std::swap(a.left, a.right); });
}

// Keys beside the window meet the values with a weight of 0: 0 NaN is NaN.
// @judged attention f32: exp=1ulp sum=sequential masked=nan; fail attributes; AKeyBesideTheWindowIsNotThere;
// kernel.attention.output|kernel.attention.lse|kernel.attention.entropy|kernel.masked_row; domain window
SOFTCHECK_MUTANT mutant_attention_window_times_zero(const softcheck_call* call) {
  return attend_attributed(
      call,
      []<class Real>(AttributedRow<Real>& row) {
        finish_attributed(row, scores_by(row, usual_score));
        const std::size_t size = row.out.size();
        for (std::size_t j = 0; j < row.items(); ++j) {
          if (row.visible[j] == row.without_window[j]) continue;
          for (std::size_t c = 0; c < size; ++c) row.out[c] += 0 * row.values[j * size + c];
        }
      },
      [](AttributedCall&) {});
}
