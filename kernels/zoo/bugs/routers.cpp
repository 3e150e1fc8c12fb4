// Bugs of routers.
#include "kernels/zoo/router_rows.hpp"

using namespace softcheck::kernels::zoo;

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
