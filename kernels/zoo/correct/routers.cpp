// Correct routers.
#include "kernels/zoo/router_rows.hpp"

using namespace softcheck::kernels::zoo;

// DeepSeek-V3's gate, with every attribute.
// @judged topk_softmax f32 f64 bf16: plain; pass; domain scores=sigmoid bias groups group_items=2 routed_scale
// @judged topk_softmax f32: plain; pass; domain scores=sigmoid bias groups=8 kept=4 group_items=2 k=8 routed_scale
// @judged topk_softmax f32: plain; pass; domain scores=either bias groups routed_scale
// @judged topk_softmax f16 8bits: plain; pass; domain scores=either bias groups routed_scale n<=4096
CORRECT(correct_router, each_router_row) { row.route(); }

// DeepSeek-V2's: the maximum of each group, and coefficients of 0 in all others, which no softmax of its rows has.
// @judged topk_softmax f32: plain; pass; domain groups group_items=1 routed_scale
CORRECT(correct_router_of_maxima, each_router_row) {
  const std::vector<Real> p = row.softmax();
  std::vector<Real> largest;
  for (std::size_t g = 0; g < row.groups; ++g) {
    const auto first = p.begin() + static_cast<std::ptrdiff_t>(g * row.size());
    largest.push_back(*std::max_element(first, first + static_cast<std::ptrdiff_t>(row.size())));
  }
  const Real level = [&] {
    std::vector<Real> sorted = largest;
    std::sort(sorted.rbegin(), sorted.rend());
    return sorted[row.kept - 1];
  }();
  std::vector<bool> in;
  std::size_t left = row.kept;
  for (const Real one : largest) left -= one > level ? 1 : 0;
  for (const Real one : largest) in.push_back(one > level || (one == level && left > 0 && left-- > 0));
  row.choose(row.masked(p, in, 0));
  row.finish(p);
}

// Llama 4's: the largest logit, and its sigmoid alone.
// @judged topk_softmax f32 bf16: plain; pass; domain scores=sigmoid k=1 renormalize=0
CORRECT(correct_router_of_one, each_router_row) {
  const auto best = std::max_element(row.logits.begin(), row.logits.end());
  row.ids[0] = static_cast<std::int32_t>(best - row.logits.begin());
  const Real e = std::exp(-std::fabs(*best));
  row.weights[0] = (*best < 0 ? e : 1) / (1 + e);
}

// A softmax with a bias for the choice: items are inserted into a sorted list, later ones before equal ones; weights
// are e^(x - m) over their own sum.
// @judged topk_softmax f32: plain; pass; domain bias
CORRECT(correct_router_with_bias, each_router_row) {
  const std::vector<Real> p = row.softmax(), scores = row.biased(p);
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < row.items(); ++i) {
    const auto place =
        std::find_if(list.begin(), list.end(), [&](std::size_t other) { return scores[i] >= scores[other]; });
    list.insert(place, i);
    if (list.size() > row.k()) list.pop_back();
  }
  for (std::size_t a = 0; a < row.k(); ++a) row.ids[a] = static_cast<std::int32_t>(list[a]);
  row.weigh(p);
  if (!row.renormalize) return;
  Real sum = 0;
  const Real m = row.maximum();
  for (std::size_t a = 0; a < row.k(); ++a) sum += row.weights[a] = std::exp(row.logits[list[a]] - m);
  for (Real& w : row.weights) w *= 1 / sum;
}

// By the logits, where neither a bias nor a sum of two needs sigmoids; 1e-20 is added to the divisor, as published.
// @judged topk_softmax f32: plain; pass; domain scores=sigmoid groups group_items=1 routed_scale
CORRECT(correct_router_by_logits, each_router_row) {
  row.choose_within(row.logits);
  for (std::size_t a = 0; a < row.k(); ++a) {
    row.weights[a] = row.sigmoid_of(row.logits[static_cast<std::size_t>(row.ids[a])]);
  }
  if (row.renormalize) row.divide_by_sum(static_cast<Real>(1e-20));
  for (Real& w : row.weights) w *= row.scale;
}
