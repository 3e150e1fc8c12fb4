// Bugs in packed and paged attention.
#include "kernels/zoo/attention_sequence_attributes.hpp"

using namespace softcheck::kernels::zoo::attention;

// Whole pages of a sequence; keys beyond its length are hidden.
static void show_whole_pages(const SequenceCall& c, Sequence& s) {
  s.hidden_from = s.keys;
  s.keys = (s.keys + c.page - 1) / c.page * c.page;
}

// Hidden values are multiplied by 0.
static constexpr auto hidden_times_zero = []<class Real>(Row<Real>& row) {
  attend_two_pass(row);
  for (std::size_t j = 0; j < row.items(); ++j) {
    if (row.visible[j] != 0) continue;
    for (std::size_t c = 0; c < row.out.size(); ++c) row.out[c] += 0 * row.values[j * row.out.size() + c];
  }
};

// FlashAttention 443: in a sequence with more queries than keys, the queries that see no key are 0/0.
// @judged attention f32: plain masked=zero; fail sequences;
// AFullyMaskedRowIsAsDeclared|SequencesOfAnyLengthAreComputed; domain packed
BUG(mutant_attention_packed_blind_queries_nan, attend_rows_of_sequences) {
  const State<Real> s = online(row, 0, row.items());
  finish<Real>(row, s, 1, row.items() == 0 ? Real(0) : not_a_number<Real>);
}

// Causality is aligned by the longest sequences (max_seqlen), not by each one's lengths.
// @judged attention f32: plain; fail sequences; output|lse|entropy|kernel.masked_row; domain packed
BUG(mutant_attention_packed_causal_by_longest, attend_changed_sequences) {
  std::int64_t queries = 0;
  for (std::int64_t b = 0; b < static_cast<std::int64_t>(c.lengths.size()); ++b) {
    queries = std::max(queries, sequence_of(c, b).queries);
  }
  s.diagonal = *std::max_element(c.lengths.begin(), c.lengths.end()) - queries;
}

// Causality compares places among all sequences' tokens, not within the sequence.
// @judged attention f32: plain; fail sequences; output|lse|entropy|kernel.masked_row; domain packed
BUG(mutant_attention_packed_causal_by_packed_index, attend_changed_sequences) {
  s.diagonal += s.first_query - s.first_key;
}

// Causality aligns each sequence's first query with its first key.
// @judged attention f32: plain; fail sequences; output|lse|entropy|kernel.masked_row; domain packed
BUG(mutant_attention_packed_causal_top_left, attend_changed_sequences) { s.diagonal = 0; }

// FlashAttention 2562: a sequence without keys is left out, and its queries' outputs are never written.
// @judged attention f32: plain; fail sequences; kernel.masked_row; domain packed
BUG(mutant_attention_packed_empty_sequence_unwritten, attend_changed_sequences) { s.left_out = s.keys == 0; }

// The cumulative lengths are copied to a table of 256 sequences: later ones are never written.
// @judged attention f32: plain; fail sequences; LongRowsHaveTheirAttributes; output|lse|entropy|kernel.masked_row;
// domain packed
BUG(mutant_attention_packed_sequences_from_257, attend_changed_sequences) { s.left_out = s.index >= 256; }

// The index of a sequence has 10 bits.
// @judged attention f32: plain; fail sequences; LongRowsHaveTheirAttributes; output|lse|entropy|kernel.masked_row;
// domain pages
BUG(mutant_attention_pages_index_of_10_bits, attend_changed_sequences) { s.table_row %= 1024; }

// The kernel reads cu_q instead of cu_k: right if each sequence has as many queries as keys.
// @judged attention f32: plain; fail sequences; domain packed
BUG(mutant_attention_packed_keys_by_query_offsets, attend_changed_sequences) {
  s.first_key = std::min(s.first_query, c.k.shape[0] - s.keys);
}

// Lengths are those of the first call with the same numbers of sequences and tokens: a stale plan.
// @judged attention f32: plain; fail sequences; EarlierLengthsDoNotMatter; output|lse|entropy|kernel.masked_row; domain
// packed
BUG(mutant_attention_packed_lengths_of_first_call, attend_changed_sequence_call) {
  static std::vector<std::int64_t> cu_q, cu_k, lengths;
  if (cu_q.size() != c.cu_q.size() || cu_q.back() != c.cu_q.back() || cu_k.back() != c.cu_k.back()) {
    cu_q = c.cu_q;
    cu_k = c.cu_k;
    lengths = c.lengths;
  }
  c.cu_q = cu_q;
  c.cu_k = cu_k;
  c.lengths = lengths;
}

// Every sequence is taken to have as many keys as the first one, within the tensor.
// @judged attention f32: plain; fail sequences; output|lse|entropy|kernel.masked_row; domain packed
BUG(mutant_attention_packed_lengths_of_first_sequence, attend_changed_sequences) {
  s.keys = std::min(c.lengths[0], c.k.shape[0] - s.first_key);
  s.diagonal = s.keys - s.queries;
}

// FlashInfer's layout: lse is written as (total, heads), where (heads, total) is meant.
// @judged attention f32: plain; fail sequences; lse|kernel.masked_row; domain packed
BUG(mutant_attention_packed_lse_by_tokens, attend_changed_sequence_call) {
  if (c.outputs < 2) return;
  c.lse.strides[0] = c.lse.strides[1];
  c.lse.strides[1] *= c.heads();
}

// Keys of the next sequence share the last block of eight: they get weight 0, and 0 NaN is NaN.
// @judged attention f32: plain; fail sequences; AnotherSequenceIsNotThere; domain packed
SOFTCHECK_MUTANT mutant_attention_packed_neighbour_times_zero(const softcheck_call* call) {
  const auto to_whole_blocks = [](const SequenceCall& c, Sequence& s) {
    s.hidden_from = s.keys;
    if (s.keys > 0) s.keys = std::min((s.keys + 7) / 8 * 8, c.k.shape[0] - s.first_key);
  };
  return attend_sequences(call, unchanged, to_whole_blocks, hidden_times_zero);
}

// FlashAttention 2337: a sequence's first key is looked for at a multiple of the block, where the packing has no
// padding.
// @judged attention f32: plain; fail sequences; domain packed
BUG(mutant_attention_packed_offsets_rounded, attend_changed_sequences) { s.first_key -= s.first_key % 4; }

// Windows and slopes count from the place among all sequences' tokens.
// @judged attention f32: plain; fail sequences; output|lse|entropy|kernel.masked_row; domain packed window alibi
BUG(mutant_attention_packed_places_among_all, attend_sequences_from) {
  return s.first_query + i - s.first_key + s.diagonal;
}

// A grid of one block of 128 queries for each sequence: later queries are never written.
// @judged attention f32: plain; fail sequences; EveryPairOfClassesIsComputed; domain packed
BUG(mutant_attention_packed_queries_from_128, attend_changed_sequences) {
  s.queries = std::min<std::int64_t>(s.queries, 128);
}

// The last sequence ends with its last whole block of eight keys.
// @judged attention f32: plain; fail sequences; domain packed
BUG(mutant_attention_packed_tail_of_last_sequence, attend_changed_sequences) {
  const bool last = s.index + 1 == static_cast<std::int64_t>(c.lengths.size());
  if (last && s.keys > 8) s.keys -= s.keys % 8;
}

// Causality aligns the last query with the last slot of the table's pages, not with the last key.
// @judged attention f32: plain; fail sequences; output|lse|entropy|kernel.masked_row; domain pages
BUG(mutant_attention_pages_causal_by_capacity, attend_changed_sequences) {
  s.diagonal = c.columns * c.page - s.queries;
}

// Values of a cache (pages, page, heads, dim) are read as (pages, heads, page, dim).
// @judged attention f32: plain; fail sequences; domain pages
BUG(mutant_attention_pages_heads_for_slots, attend_changed_sequence_call) {
  const std::int64_t dim = c.v.strides[1] / std::max<std::int64_t>(1, c.v.shape[2]);
  c.v.strides[1] = dim;                 // a slot
  c.v.strides[2] = dim * c.v.shape[1];  // a head
}

// A sequence's pages are taken to be contiguous from its first one on.
// @judged attention f32: plain; fail sequences; domain pages
BUG(mutant_attention_pages_in_order, attend_changed_sequence_call) {
  for (std::size_t k = 0; k < c.table.size(); ++k) {
    const std::int64_t column = static_cast<std::int64_t>(k) % c.columns;
    if (column > 0) c.table[k] = std::min(c.table[k - 1] + 1, c.k.shape[0] - 1);
  }
}

// A page that is not full is left out: length / page pages.
// @judged attention f32: plain; fail sequences; domain pages
BUG(mutant_attention_pages_last_one_dropped, attend_changed_sequences) {
  if (s.keys > c.page) s.keys -= s.keys % c.page;
}

// A page is taken to have sixteen slots, whatever the call's page size is.
// @judged attention f32: plain; fail sequences; EveryValueLiesWithinItsThreshold|SequencesOfAnyLengthAreComputed;
// output|lse|entropy|kernel.masked_row; domain pages
SOFTCHECK_MUTANT mutant_attention_pages_of_sixteen(const softcheck_call* call) {
  return attend_sequences(
      call, [](SequenceCall& c) { c.page = std::min<std::int64_t>(c.page, 16); },
      [](const SequenceCall& c, Sequence& s) { s.keys = std::min(s.keys, c.columns * c.page); }, two_pass);
}

// pegainfer 291: where the length is a whole number of pages, length / page + 1 is a page too many.
// @judged attention f32: plain; fail sequences; domain pages
BUG(mutant_attention_pages_one_too_many, attend_changed_sequences) {
  if (s.keys > 0 && s.keys % c.page == 0) s.keys += c.page;
}

// Windows and slopes count from the end of the longest sequence, as where its length is the cache's.
// @judged attention f32: plain; fail sequences; output|lse|entropy|kernel.masked_row; domain pages window alibi
BUG(mutant_attention_pages_places_by_longest, attend_sequences_from) {
  return i + *std::max_element(c.lengths.begin(), c.lengths.end()) - s.queries;
}

// vLLM 47305, 53628's kind: the mask adds -inf to the scores of slots after the length, and NaN - inf is NaN.
// @judged attention f32: plain; fail sequences; domain pages
SOFTCHECK_MUTANT mutant_attention_pages_slots_minus_infinity(const softcheck_call* call) {
  return attend_sequences(call, unchanged, show_whole_pages, []<class Real>(Row<Real>& row) {
    std::vector<Real> x;
    for (std::size_t j = 0; j < row.items(); ++j) {
      const bool visible = row.visible[j] != 0;
      row.visible[j] = 1;
      x.push_back(score(row, j) + (visible ? 0 : lowest<Real>));
    }
    finish(row, accumulate(row, x, largest(x)));
  });
}

// vLLM 936, openvino 37377: the last page is read whole; slots after the length get weight 0, and 0 NaN is NaN.
// @judged attention f32: plain; fail sequences; domain pages
SOFTCHECK_MUTANT mutant_attention_pages_slots_times_zero(const softcheck_call* call) {
  return attend_sequences(call, unchanged, show_whole_pages, hidden_times_zero);
}

// The block table of sequence 0 serves all.
// @judged attention f32: plain; fail sequences; domain pages
BUG(mutant_attention_pages_table_of_first_sequence, attend_changed_sequences) { s.table_row = 0; }

// The block table's rows are taken to be contiguous, whatever their stride is.
// @judged attention f32: plain; fail sequences; LayoutsAndNeighboursDoNotMatter|SequencesOfAnyLengthAreComputed; domain
// pages
BUG(mutant_attention_pages_table_taken_as_compact, attend_changed_sequence_call) {
  for (std::uint32_t i = 3; i < asked->n_inputs; ++i) {
    if (softcheck_version_2(asked)->input_roles[i] != SOFTCHECK_ROLE_BLOCK_TABLE) continue;
    DLTensor compact = *asked->inputs[i];
    if (compact.shape[0] == 0) return;
    compact.strides = nullptr;
    c.table = integers_of(compact);
    for (std::int64_t& page : c.table) page = std::clamp<std::int64_t>(page, 0, c.k.shape[0] - 1);
  }
}

// A length is rounded up to whole pages: the contents of the slots after it count.
// @judged attention f32: plain; fail sequences; domain pages
BUG(mutant_attention_pages_whole, attend_changed_sequences) { s.keys = (s.keys + c.page - 1) / c.page * c.page; }

// From the 33rd sequence on, one with a single query (decoding) does not see its newest key.
// @judged attention f32: plain; fail sequences; LongRowsHaveTheirAttributes; domain packed
BUG(mutant_attention_packed_33rd_decoded_sequence, attend_changed_sequences) {
  if (s.index >= 32 && s.queries == 1 && s.keys > 0) s.keys -= 1;
}
