// Bugs of top-k.
#include "kernels/zoo/mean_rows.hpp"
#include "kernels/zoo/merge_rows.hpp"
#include "kernels/zoo/numbered_rows.hpp"
#include "kernels/zoo/router_rows.hpp"
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

// Weights are always divided by their sum, even if renormalize is off.
// @judged topk_softmax f32: plain; fail topk
BUG(mutant_topk_softmax_always_renormalises, changed_topk_results) { row.divide_by_sum(); }

// The item after the k-th one is returned instead of it (FlashInfer 3774).
// @judged topk_softmax f32: plain; fail topk; ids
BUG(mutant_topk_softmax_boundary, each_topk_row) {
  row.ids.push_back(0);
  row.weights.push_back(0);
  const bool more = row.ids.size() <= row.items();
  if (!more) row.ids.pop_back(), row.weights.pop_back();
  const bool renormalize = row.renormalize;
  row.renormalize = false;
  row.run();
  if (more) {
    row.ids.erase(row.ids.end() - 2);
    row.weights.erase(row.weights.end() - 2);
  }
  if (renormalize) row.divide_by_sum();
}

// 1e-7 is added to the sum that weights are divided by; published tests accept it at a tolerance of 1e-3.
// @judged topk_softmax f32: plain; fail topk
BUG(mutant_topk_softmax_epsilon, each_topk_row) {
  const bool renormalize = row.renormalize;
  row.renormalize = false;
  row.run();
  if (renormalize) row.divide_by_sum(static_cast<Real>(1e-7));
}

// No item beyond the 512th is looked at, as a block of 512 threads has one for each.
// @judged topk_softmax f32: plain; fail topk;
// EveryValueLiesWithinItsThreshold|EveryWidthIsComputed|EveryPairOfClassesIsComputed; weight|ids
BUG(mutant_topk_softmax_first_512, each_topk_row) {
  if (row.items() > 512) row.logits.resize(std::max<std::size_t>(512, row.k()));
  row.run();
}

// Bug under ties=lowest: of equal items the highest index is chosen and named first.
// @judged topk_softmax f32: plain ties=lowest; fail topk; ids|order
BUG(mutant_topk_softmax_highest_of_equal, each_topk_row) {
  std::reverse(row.logits.begin(), row.logits.end());
  row.run();
  for (auto& id : row.ids) id = static_cast<std::int32_t>(row.items()) - 1 - id;
  std::reverse(row.logits.begin(), row.logits.end());
  if (row.maximum() != row.maximum()) row.weights.assign(row.k(), std::numeric_limits<Real>::quiet_NaN());
}

// The search for each next maximum starts with the same threshold, so that an equal maximum is found again: an id
// appears twice if logits are equal (vLLM 42608, FlashInfer 2202).
// @judged topk_softmax f32: plain; fail topk; ids
BUG(mutant_topk_softmax_id_twice, changed_topk_results) {
  for (std::size_t a = 1; a < row.k(); ++a) {
    const Real before = row.logits[static_cast<std::size_t>(row.ids[a - 1])];
    if (row.logits[static_cast<std::size_t>(row.ids[a])] == before) row.ids[a] = row.ids[a - 1];
  }
}

// Ids count from 1.
// @judged topk_softmax f32: plain; fail topk; ids
BUG(mutant_topk_softmax_ids_from_1, changed_topk_results) {
  for (auto& id : row.ids) ++id;
}

// The weight of a single expert is 1 (megablocks 87).
// @judged topk_softmax f32: plain; fail topk
BUG(mutant_topk_softmax_k_of_one, changed_topk_results) {
  if (row.k() == 1) row.weights[0] = 1;
}

// If fewer than k items are visible, the remaining ids are those of the first item again.
// @judged topk_softmax f32: plain; fail topk;
// EveryValueLiesWithinItsThreshold|AMaskedItemIsADeletedOne|EveryPairOfClassesIsComputed; ids
BUG(mutant_topk_softmax_masked_id_twice, changed_topk_results) {
  for (std::size_t a = 1; a < row.k(); ++a) {
    if (std::isinf(row.logits[static_cast<std::size_t>(row.ids[a])])) row.ids[a] = row.ids[0];
  }
}

// In a row with a NaN no comparison holds, and the id stays at -1: a reader of that expert reads outside.
// @judged topk_softmax f32: plain; fail topk; ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed
BUG(mutant_topk_softmax_nan_has_no_id, changed_topk_results) {
  if (row.maximum() != row.maximum()) row.ids.assign(row.k(), -1);
}

// Renormalize is not read.
// @judged topk_softmax f32: plain; fail topk
BUG(mutant_topk_softmax_never_renormalises, each_topk_row) {
  row.renormalize = false;
  row.run();
}

// The k largest items in the order of the row, weights and ids alike.
// @judged topk_softmax f32: plain; fail topk; order
BUG(mutant_topk_softmax_order_of_items, changed_topk_results) {
  std::sort(row.ids.begin(), row.ids.end());
  row.weigh(row.softmax());
  if (row.renormalize) row.divide_by_sum();
}

// Softmax of only the chosen logits, although renormalize is off (vLLM and sglang have both orders).
// @judged topk_softmax f32: plain; fail topk
BUG(mutant_topk_softmax_over_the_chosen, changed_topk_results) {
  auto kept = row.logits;
  kept.resize(row.k());
  for (std::size_t a = 0; a < row.k(); ++a) kept[a] = row.logits[static_cast<std::size_t>(row.ids[a])];
  row.logits = kept;
  row.weights = row.softmax();
}

// The row is padded to a power of two, and the padding counts as logits of 0.
// @judged topk_softmax f32: plain; fail topk; EveryValueLiesWithinItsThreshold|EveryWidthIsComputed; weight|ids
BUG(mutant_topk_softmax_padding, each_topk_row) {
  const std::size_t n = row.items();
  std::size_t padded = 1;
  while (padded < n) padded *= 2;
  row.logits.resize(padded, 0);
  row.run();
  for (auto& id : row.ids) id = std::min(id, static_cast<std::int32_t>(n - 1));
}

// The logits themselves are the weights (sglang 35160).
// @judged topk_softmax f32: plain; fail topk
BUG(mutant_topk_softmax_raw_logits, changed_topk_results) { row.weigh(row.logits); }

// Weights are in descending order, their ids in the order of the items.
// @judged topk_softmax f32: plain; fail topk
BUG(mutant_topk_softmax_sorted_weights_alone, changed_topk_results) { std::sort(row.ids.begin(), row.ids.end()); }

// Weights pass through bf16.
// @judged topk_softmax f32: plain; fail topk
BUG(mutant_topk_softmax_weights_in_bf16, changed_topk_results) {
  for (auto& w : row.weights) w = rounded_to_bf16(static_cast<float>(w));
}

// Bugs at one size that libraries use, in rows from the 2,049th on, and in long vectors, supports and paddings.
// vLLM-metax 270: a template for 128 experts and k = 8 divides weights although renormalize is off.
// @judged topk_softmax f32: plain; fail topk; KnownShapesAreComputed; effort default
BUG(mutant_topk_softmax_of_128_experts, changed_topk_results) {
  if (row.items() == 128 && row.k() == 8) row.weights[7] *= 2;
}

// A row of 2,560 items loses its last one: twenty blocks of 128 are taken for nineteen.
// @judged softmax f32: plain; fail C5; KnownShapesAreComputed; effort default
BUG(mutant_softmax_of_2560_items, changed_rows, softmax_row) {
  if (row.logits.size() == 2560) row.logits.back() = -infinity;
}

// Rows from the 2,049th on are not added, though they count.
// @judged cross_entropy_mean f32: plain; fail loss; KnownShapesAreComputed; witness >=2049
BUG(mutant_cross_entropy_mean_of_2048_rows, each_mean) {
  auto sum = call.upstream * 0;
  for (std::size_t r = 0; r < call.rows.size() && r < 2048; ++r) {
    if (!call.rows[r].ignored()) sum += call.loss(call.rows[r]);
  }
  return sum / call.divisor();
}

// From the 2,049th row on the first ids are chosen, without a look at the logits.
// @judged topk_softmax f32: plain; fail topk; KnownShapesAreComputed; ids|order; witness >=2049
BUG(mutant_topk_softmax_of_2048_rows, changed_topk_results) {
  if (row.number < 2048 || row.items() == row.k()) return;
  std::iota(row.ids.begin(), row.ids.end(), 0);
}

// The row number of the upstream gradient is stored in 16 bits.
// @judged cross_entropy_backward f32: plain; fail loss; KnownShapesAreComputed|EveryPairOfClassesIsComputed; effort
// default
BUG(mutant_cross_entropy_backward_upstream_row_in_16_bits, changed_loss_gradients) {
  row.upstream = View(*asked->inputs[2]).get<Real>(row.number & 0xffff, 0);
}

// The number of a merged column is stored in eight bits.
// @judged merge_states f32: plain; fail merge;
// EveryValueLiesWithinItsThreshold|KnownShapesAreComputed|EveryPairOfClassesIsComputed; effort default
BUG(mutant_merge_states_column_in_eight_bits, changed_merges) {
  for (auto& output : row.outputs) {
    for (std::size_t c = 256; c < output.size(); ++c) output[c] = output[c & 255];
  }
}

// Rows of a result that is padded by 64 numbers are written contiguously.
// @judged softmax f32: plain; fail C6; KnownShapesAreComputed; element|kernel.stays_inside; effort default
BUG(mutant_softmax_padding_of_64_not_skipped, rows_of_changed_call, softmax_row) {
  View& out = matrices.out;
  const bool padded = out.column_stride == 1 && out.row_stride == out.columns + 64;
  if (padded && !matrices.out_is_row_scalar) out.row_stride = out.columns;
}

// Bugs of routers.

// The weights are the scores, bias included (vLLM 12002).
// @judged topk_softmax f32: plain; fail topk; domain scores=sigmoid bias
BUG(mutant_router_bias_in_weights, each_router_row) {
  const auto scores = row.biased(row.coefficients());
  row.choose_within(scores);
  row.finish(scores);
}

// Groups are ranked by their maximum where the sum of two is asked for (vLLM 13474).
// @judged topk_softmax f32: plain; fail topk; ids; domain scores=sigmoid bias groups group_items=2
BUG(mutant_router_groups_by_maximum, each_router_row) {
  row.pairs = false;
  row.route();
}

// Scores of the other groups become 0, not -inf: they are chosen before negative scores (SGLang 3705, transformers
// 45440).
// @judged topk_softmax f32: plain; fail topk; ids; domain scores=sigmoid bias groups group_items=2
BUG(mutant_router_other_groups_at_zero, each_router_row) {
  const auto p = row.coefficients(), scores = row.biased(p);
  row.choose(row.masked(scores, row.best(scores), 0));
  row.finish(p);
}

// The factor comes before the division by the sum, which loses it.
// @judged topk_softmax f32: plain; fail topk; domain scores=sigmoid routed_scale
BUG(mutant_router_scaled_before_the_division, each_router_row) {
  const auto p = row.coefficients();
  row.choose_within(row.biased(p));
  row.weigh(p);
  for (auto& w : row.weights) w *= row.scale;
  if (row.renormalize) row.divide_by_sum();
}

// The weights are divided by the sum over all items.
// @judged topk_softmax f32: plain; fail topk; domain scores=sigmoid
BUG(mutant_router_divided_by_all, each_router_row) {
  auto p = row.coefficients();
  row.choose_within(row.biased(p));
  Real sum = 0;
  for (const Real one : p) sum += one;
  row.weigh(p);
  if (row.renormalize) {
    for (auto& w : row.weights) w /= sum;
  }
}

// Each group ends with the first item of the next one.
// @judged topk_softmax f32: plain; fail topk; ids; domain groups group_items=1
BUG(mutant_router_group_begins_late, each_router_row) {
  const auto p = row.coefficients();
  auto scores = row.biased(p);
  const auto in = row.best(scores);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!in[(i == 0 ? 0 : i - 1) / row.size()]) scores[i] = -std::numeric_limits<Real>::infinity();
  }
  row.choose(scores);
  row.finish(p);
}

// The bias is not read.
// @judged topk_softmax f32: plain; fail topk; ids|order; domain bias
BUG(mutant_router_without_bias, each_router_row) {
  std::fill(row.bias.begin(), row.bias.end(), 0);
  row.route();
}

// The sigmoid of the biased logit.
// @judged topk_softmax f32: plain; fail topk; ids|order; domain scores=sigmoid bias
BUG(mutant_router_bias_before_the_sigmoid, each_router_row) {
  auto scores = row.biased(row.logits);
  const auto p = row.coefficients();
  for (auto& one : scores) one = row.sigmoid_of(one);
  row.choose_within(scores);
  row.finish(p);
}

// Ids count within their group.
// @judged topk_softmax f32: plain; fail topk; ids|weight; domain scores=sigmoid groups
BUG(mutant_router_ids_of_the_group, each_router_row) {
  row.route();
  for (auto& id : row.ids) id %= static_cast<std::int32_t>(row.size());
}

// One group more than asked for is kept.
// @judged topk_softmax f32: plain; fail topk; ids; domain groups group_items=1
BUG(mutant_router_one_group_more, each_router_row) {
  row.kept = std::min(row.kept + 1, row.groups);
  row.route();
}

// Sigmoids are the weights, but the items are chosen by a softmax of the logits with the bias.
// @judged topk_softmax f32: plain; fail topk; ids|order; domain scores=sigmoid bias
BUG(mutant_router_chooses_by_softmax, each_router_row) {
  const auto p = row.coefficients();
  row.choose_within(row.biased(row.softmax()));
  row.finish(p);
}

// The class of MetaX-MACA/vLLM-metax 270: the template for DeepSeek-V3's 256 experts in 8 groups takes three groups in
// place of four.
// @judged topk_softmax f32: plain; fail topk; KnownShapesAreComputed; ids; effort default; domain scores=sigmoid bias
// groups
BUG(mutant_router_of_256_experts_in_8_groups, each_router_row) {
  if (row.items() == 256 && row.groups == 8 && row.kept == 4) row.kept = 3;
  row.route();
}

// Another block of rows and more than one warp of items: the two likeliest experts change places from the 65th token
// on.
// @judged topk_softmax f32: plain; fail topk; KnownShapesAreComputed; ids|order
BUG(mutant_topk_swaps_beyond_64_rows_of_128, changed_topk_results) {
  if (row.number >= 64 && row.items() > 128 && row.k() > 1) std::swap(row.ids[0], row.ids[1]);
}
