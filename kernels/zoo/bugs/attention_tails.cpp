// Bugs of attention: tails and padding.
#include <cstdlib>

#include "kernels/zoo/attention_gradients.hpp"
#include "kernels/zoo/attention_places.hpp"
#include "kernels/zoo/attention_sequences.hpp"

using namespace softcheck::kernels::zoo::attention;

// C5, Wan2GP PR #1628: the mask is added as -inf: a masked key that holds NaN stays NaN.
// @judged attention bf16: plain entropy=exact; fail C5; AMaskedItemIsADeletedOne
BUG(mutant_attention_adds_mask, attend) {
  const auto mask = row.visible;
  row.visible.assign(mask.size(), 1);
  auto x = scores(row);
  for (std::size_t j = 0; j < x.size(); ++j) x[j] += mask[j] != 0 ? Real(0) : lowest<Real>;
  finish(row, accumulate(row, x, largest(x)));
}

// C5: the path for head dimension 128 takes its dot products in three steps of 32 and one of 28.
// @judged attention f32 bf16: plain entropy=exact; fail C5; EveryPairOfClassesIsComputed
BUG(mutant_attention_dimension_128, attend_changed_rows) {
  if (row.query.size() == 128) std::fill(row.query.end() - 4, row.query.end(), Real(0));
}

// C5: head dimension 192 is padded to 256 with the last tile's contents: its last 64 products are added twice.
// @judged attention f32: plain entropy=exact; fail C5; EveryPairOfClassesIsComputed
BUG(mutant_attention_dimension_192, attend_changed_rows) {
  if (row.query.size() != 192) return;
  for (std::size_t t = 128; t < 192; ++t) row.query[t] *= 2;
}

// C5: head dimension 256 does not fit one tile; the second half of the query is not added.
// @judged attention f32: plain entropy=exact; fail C5; EveryPairOfClassesIsComputed
BUG(mutant_attention_dimension_256, attend_changed_rows) {
  if (row.query.size() == 256) std::fill(row.query.begin() + 128, row.query.end(), Real(0));
}

// C5: beyond 128 elements the dot product takes 32 at a time and leaves out the rest.
// @judged attention f32: plain entropy=exact; fail C5; EveryPairOfClassesIsComputed
BUG(mutant_attention_dimension_tail_beyond_128, attend_changed_rows) {
  const std::size_t d = row.query.size();
  if (d > 129) std::fill(row.query.end() - static_cast<std::ptrdiff_t>(d % 32), row.query.end(), Real(0));
}

// C5, the class of PyTorch #154634: keys in blocks of 8; the remaining keys are not read.
// @judged attention f32 f16: plain entropy=exact; fail C5; witness 9
BUG(mutant_attention_drops_key_tail, attend_changed_call) { a.keys -= a.keys > 8 ? a.keys % 8 : 0; }

// C5, MLC-LLM PR #1889: the dot product takes four elements at a time and leaves out the rest.
// @judged attention bf16: plain entropy=exact; fail C5
BUG(mutant_attention_head_dimension_tail, attend) {
  const std::size_t d = row.query.size();
  std::fill(row.query.begin() + static_cast<std::ptrdiff_t>(d - d % 4), row.query.end(), Real(0));
  attend_two_pass(row);
}

// C5: at most 4096 keys fit the workspace of scores; later ones are left out.
// @judged attention f32: plain entropy=exact; fail C5; EveryPairOfClassesIsComputed; witness >=4097
BUG(mutant_attention_keys_from_4096, attend_changed_call) { a.keys = a.keys > 4096 ? 4096 : a.keys; }

// C6, C10: sizes of trained models that small calls do not reach.
// aiter #2273: a kernel for head dims below 256 that checks nothing; no product from the 256th number on is added.
// @judged attention f32: plain entropy=exact; fail C5; KnownShapesAreComputed; effort default
BUG(mutant_attention_head_dim_from_257, attend_changed_rows) {
  for (std::size_t t = 256; t < row.query.size(); ++t) row.query[t] = 0;
}

// Columns of the values from the 257th on are those of 256 columns before.
// @judged attention f32: plain entropy=exact; fail C5; KnownShapesAreComputed; effort default
BUG(mutant_attention_value_dim_from_257, attend_changed_rows) {
  const std::size_t size = row.out.size();
  for (std::size_t j = 0; j < row.items(); ++j) {
    for (std::size_t c = 256; c < size; ++c) row.values[j * size + c] = row.values[j * size + c - 256];
  }
}

// The number of a query head is stored in seven bits.
// @judged attention f32: plain entropy=exact; fail C6; KnownShapesAreComputed; effort default
BUG(mutant_attention_head_in_seven_bits, attend_changed_rows) { take_query_of(a, {at.b, at.h & 127, at.i}, row); }

// The number of a query is stored in twelve bits.
// @judged attention f32: plain entropy=exact; fail C6; KnownShapesAreComputed; effort default
BUG(mutant_attention_query_in_twelve_bits, attend_changed_rows) { take_query_of(a, {at.b, at.h, at.i & 4095}, row); }

// FreeToken PR 177, vLLM PR 40792: tiles of 16 query heads that belong to two groups read the first group's keys.
// @judged attention f32: plain entropy=exact; fail C15; KnownShapesAreComputed; effort default
BUG(mutant_attention_tiles_of_sixteen_heads, attend_changed_call) {
  const std::size_t heads = a.key_head.size();
  const std::size_t group = a.k.shape[1] == 0 ? 1 : heads / static_cast<std::size_t>(a.k.shape[1]);
  if (group <= 16) return;
  for (std::size_t h = 0; h < heads; ++h) a.key_head[h] = a.key_head[h / 16 * 16];
}

// flashinfer 3125, pytorch 142228: batch times heads is limited to a grid of 65,535 blocks; the others are not written.
// @judged attention f32: plain entropy=exact; fail C6; KnownShapesAreComputed; effort default
SOFTCHECK_MUTANT mutant_attention_grid_of_65535_heads(const softcheck_call* call) {
  if (!accepts(*call)) return 1;
  Attention a = unpack(*call);
  const auto attend_all = [&]<class Real>(Real) {
    LastHead<Real> last;
    for (std::int64_t at = 0; at < a.q.shape[0] * a.q.shape[1] && at < 65535; ++at) {
      for (std::int64_t i = 0; i < a.q.shape[2]; ++i) {
        Row<Real> row = gather(a, at / a.q.shape[1], at % a.q.shape[1], i, last);
        attend_two_pass(row);
        scatter(a, at / a.q.shape[1], at % a.q.shape[1], i, row);
      }
    }
    return 0;
  };
  return softcheck::kernels::zoo::is_f64(a.q.type) ? attend_all(double{}) : attend_all(float{});
}

// A window's length is stored in eight bits.
// @judged attention f32: plain entropy=exact; fail C15; KnownShapesAreComputed; effort default; domain window
BUG(mutant_attention_window_in_eight_bits, attend_changed) {
  if (a.left >= 0) a.left &= 255;
}

// A window's length is stored in 15 bits.
// @judged attention f32: plain entropy=exact; fail C15; KnownShapesAreComputed; effort default; domain window alibi
BUG(mutant_attention_window_in_15_bits, attend_changed) {
  if (a.left >= 0) a.left &= 32767;
}

// A kernel for heads of 256 numbers (Gemma 2) lacks the softcap.
// @judged attention f32: plain entropy=exact; fail C15; EveryPairOfClassesIsComputed; domain softcap
BUG(mutant_attention_softcap_lost_at_dimension_256, attend_changed) {
  if (a.plain.q.shape[3] == 256) a.softcap = 0;
}

// Sinks are loaded into 32 places: gpt-oss has 64 heads.
// @judged attention f32: plain entropy=exact; fail C15; EveryPairOfClassesIsComputed; domain sinks
BUG(mutant_attention_sinks_of_32_heads, attend_changed) {
  for (std::int64_t& head : a.sink_head) head &= 31;
}

// Slopes are loaded into 16 places: BLOOM has 112 heads.
// @judged attention f32: plain entropy=exact; fail C15; EveryPairOfClassesIsComputed; domain alibi
BUG(mutant_attention_slopes_of_16_heads, attend_changed) {
  for (std::int64_t& head : a.slope_head) head &= 15;
}

// Every tile of 128 keys has the bias of the first one.
// @judged attention f32: plain entropy=exact; fail C15; EveryPairOfClassesIsComputed; domain bias
BUG(mutant_attention_bias_of_the_first_tile, attend_changed_attributed_rows) {
  for (std::size_t j = 128; j < row.bias.size(); ++j) row.bias[j] = row.bias[j - 128];
}

// ALiBi's distance is stored in 15 bits.
// @judged attention f32: plain entropy=exact; fail C15; KnownShapesAreComputed; effort default; domain window alibi
BUG(mutant_attention_alibi_distance_in_15_bits, attend_by_scores) {
  const Real x = attributed_score(row, j);
  const std::int64_t distance = std::abs(row.place - static_cast<std::int64_t>(j));
  return row.visible[j] == 0 ? x : x + row.slope * static_cast<Real>(distance - (distance & 32767));
}

// Liger-Kernel 1344: a loop over sequences that ends at the 32nd.
// @judged attention f32: plain entropy=exact; fail sequences; KnownShapesAreComputed; effort default; domain packed
BUG(mutant_attention_sequences_from_the_33rd, attend_changed_sequences) { s.left_out = s.index >= 32; }

// The next entry of the block table is read without a check that it exists, as in a prefetch.
// @judged attention f32: plain entropy=exact; fail|crash sequences; kernel.returns; domain pages
BUG(mutant_attention_pages_read_one_entry_ahead, attend_changed_sequences) {
  for (std::uint32_t k = 0; c.paged() && k < asked->n_inputs; ++k) {
    const DLTensor& table = *asked->inputs[k];
    if (softcheck_version_2(asked)->input_roles[k] != SOFTCHECK_ROLE_BLOCK_TABLE) continue;
    const auto* entries =
        reinterpret_cast<const std::int32_t*>(static_cast<const char*>(table.data) + table.byte_offset);
    const std::int64_t row = table.strides == nullptr ? c.columns : table.strides[0];
    const volatile std::int32_t* next = entries + s.index * row + (s.keys + c.page - 1) / c.page;
    static_cast<void>(*next);
  }
}

// Queries of the group's heads from the 17th on add nothing to the gradients by keys and values.
// @judged attention_backward f32: plain masked=zero; fail C15; KnownShapesAreComputed; effort default
GRADIENT_BUG(mutant_attention_backward_group_of_sixteen, void,
             add(std::size_t i, std::size_t j, Real weight, Real ds)) {
  const std::vector<Real> dk = head.dk, dv = head.dv;
  Gradients<Real>::add(i, j, weight, ds);
  if (i < 16 * head.queries) return;
  head.dk = dk;
  head.dv = dv;
}

// Queries from the 4,097th on add nothing to them.
// @judged attention_backward f32: plain masked=zero; fail C6; KnownShapesAreComputed; effort default
GRADIENT_BUG(mutant_attention_backward_of_4096_queries, void, add(std::size_t i, std::size_t j, Real weight, Real ds)) {
  Gradients<Real>::add(i, j, i % head.queries < 4096 ? weight : 0, ds);
}

// The gradients by queries and keys end at the 512th number.
// @judged attention_backward f32: plain masked=zero; fail C5; KnownShapesAreComputed; effort default
GRADIENT_BUG(mutant_attention_backward_head_dim_from_513, void, finish_sums(Real scale)) {
  Gradients<Real>::finish_sums(scale);
  for (std::size_t at = 0; at < head.dq.size(); ++at) head.dq[at] *= at % head.dim < 512 ? 1 : 0;
}

// Small numbers of the gradient by the output are taken for 0.
// @judged attention_backward f32: plain masked=zero; fail gradient
GRADIENT_BUG(mutant_attention_backward_drops_small_upstream, void, run(Real scale)) {
  for (Real& g : head.gradients) g = std::fabs(g) < Real(1e-30) ? 0 : g;
  Gradients<Real>::run(scale);
}

// Heads from the 129th on are not written.
// @judged attention_backward f32: plain masked=zero; fail C6; KnownShapesAreComputed; effort default
BUG(mutant_attention_backward_of_128_heads, gradients_of_changed_call) {
  const std::int64_t group = a.of.plain.k.shape[1] == 0 ? 1 : a.of.plain.q.shape[1] / a.of.plain.k.shape[1];
  a.of.plain.k.shape[1] = std::min<std::int64_t>(a.of.plain.k.shape[1], 128 / group);
  a.of.plain.q.shape[1] = a.of.plain.k.shape[1] * group;
}

// C5, the class of Wan2GP PR #1628: a masked value is multiplied by weight 0, and 0 NaN is NaN.
// @judged attention f16: plain entropy=exact; fail C5; AMaskedItemIsADeletedOne; output
BUG(mutant_attention_masked_values_times_zero, attend) {
  const auto x = scores(row);
  const std::size_t size = row.out.size();
  State<Real> s = accumulate(row, x, largest(x));
  for (std::size_t j = 0; j < x.size(); ++j) {
    for (std::size_t c = 0; c < size && row.visible[j] == 0; ++c) s.values[c] += 0 * row.values[j * size + c];
  }
  finish(row, s);
}

// C5, JAX #27224: keys are padded to a multiple of 4, a pad scores 0 and its value is 0.
// @judged attention f64: plain entropy=exact; fail C5
BUG(mutant_attention_pads_scored_zero, attend) {
  auto x = scores(row);
  x.resize((x.size() + 3) / 4 * 4, Real(0));
  row.values.resize(x.size() * row.out.size(), Real(0));
  finish(row, accumulate(row, x, largest(x)));
}

// C5, the class of PyTorch PR #193728: a last group of 4 keys is read whole; keys beyond the end have weight 0, but 0
// NaN is NaN.
// @judged attention f32: plain entropy=exact; fail|crash C5; kernel.returns
SOFTCHECK_MUTANT mutant_attention_reads_beyond_keys(const softcheck_call* call) {
  return attend(
      call,
      []<class Real>(Row<Real>& row) {
        const auto x = scores(row);
        const std::size_t size = row.out.size(), groups = x.size() / 4;
        State<Real> s = accumulate(row, x, largest(x));
        for (std::size_t j = groups > 0 ? 4 * (groups - 1) : 0; j < x.size(); ++j) {
          for (std::size_t c = 0; c < size && x[j] == lowest<Real>; ++c) s.values[c] += 0 * row.values[j * size + c];
        }
        finish(row, s);
      },
      [](Attention& a) { a.keys = (a.keys + 3) / 4 * 4; });
}

// C5: the accumulator of P V has registers for 128 columns; those from 129 on wrap around.
// @judged attention f32 bf16: plain entropy=exact; fail C5; EveryPairOfClassesIsComputed
BUG(mutant_attention_value_columns_beyond_128, attend_changed_rows) {
  const std::size_t size = row.out.size();
  for (std::size_t k = 0; k < row.values.size(); ++k) {
    if (k % size > 128) row.values[k] = row.values[k - 128];
  }
}

// C5, the class of PyTorch #147284: columns of V beyond a multiple of 4 are never written.
// @judged attention f32: plain entropy=exact; fail C5; output
BUG(mutant_attention_value_tail, attend) {
  const auto before = row.out;
  attend_two_pass(row);
  for (std::size_t c = row.out.size() / 4 * 4; c < row.out.size(); ++c) row.out[c] = before[c];
}
