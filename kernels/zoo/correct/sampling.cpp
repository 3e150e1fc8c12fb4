// Correct kernels of top-k and top-p.
#include "kernels/zoo/router_rows.hpp"
#include "kernels/zoo/top_p_rows.hpp"
#include "kernels/zoo/topk_rows.hpp"

using namespace softcheck::kernels::zoo;

// Coefficients from the largest on until those before an item reach top_p; then min_p of the largest one.
// @judged top_p_softmax f64 f32 f16 bf16: plain ties=lowest; pass
// @judged top_p_softmax e5m2: plain ties=lowest; pass; domain n<=4096
// @judged top_p_softmax e4m3: plain ties=lowest; pass; domain n<=128
CORRECT(correct_top_p_softmax, each_top_p_row) { row.run(); }

// From the smallest on, items are left out while they add up to 1 - top_p at most (transformers); softmax
// again of the logits that are left.
// @judged top_p_softmax f32 f16: plain; pass
CORRECT(correct_top_p_softmax_ascending, each_top_p_row) {
  const std::vector<Real> p = row.softmax();
  std::vector<std::size_t> order = row.descending(p);
  std::vector<bool> kept(row.size(), true);
  Real from_below = 0;
  for (std::size_t k = order.size(); row.top_p != 0 && k-- > 1;) {
    from_below += p[order[k]];
    if (from_below <= 1 - row.top_p) kept[order[k]] = false;
  }
  row.above_min_p(p, kept);
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (!kept[i]) row.logits[i] = -std::numeric_limits<Real>::infinity();
  }
  row.out = row.softmax();
}

// An item is left out if the sum up to it, less its own coefficient, reaches top_p (vLLM, SGLang). The divisor is the
// sum of the prefix.
// @judged top_p_softmax f32: plain; pass
CORRECT(correct_top_p_softmax_exclusive, each_top_p_row) {
  const std::vector<Real> p = row.softmax();
  Real up_to = 0, kept = 0;
  const Real largest = *std::max_element(p.begin(), p.end());
  for (const std::size_t i : row.descending(p)) {
    up_to += p[i];
    const bool enough = row.top_p != 0 && up_to - p[i] >= row.top_p;
    row.out[i] = enough || (row.min_p != 0 && p[i] < row.min_p * largest) ? 0 : p[i];
    kept += row.out[i];
  }
  for (Real& value : row.out) value /= kept;
}

// All items as large as the smallest one of the prefix are kept, as by kernels that search for its value
// (FlashInfer).
// @judged top_p_softmax f32 bf16: plain; pass
CORRECT(correct_top_p_softmax_pivot, top_p_by_choice) {
  const std::vector<bool> first = row.prefix(p);
  Real pivot = std::numeric_limits<Real>::infinity();
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (first[i] && p[i] < pivot) pivot = p[i];
  }
  kept.assign(p.size(), false);
  for (std::size_t i = 0; i < p.size(); ++i) kept[i] = !(p[i] < pivot);
}

// Exponentials in the order of the logits, the highest index first among equal ones, are compared with top_p S. min_p
// is applied to differences of logits. Results are multiplied by 1 over the sum of the kept ones.
// @judged top_p_softmax f32: plain; pass
CORRECT(correct_top_p_softmax_unnormalised, each_top_p_row) {
  const std::vector<Real> w = row.weights();
  const Real m = row.maximum(), due = row.top_p * row.sum_of(w), level = -std::log(row.min_p);
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!std::isnan(m)) {
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return row.logits[a] > row.logits[b] || (row.logits[a] == row.logits[b] && a > b);
    });
  }
  Real before = 0, kept = 0;
  for (const std::size_t i : order) {
    const bool enough = row.top_p != 0 && before >= due;
    const bool small = row.min_p != 0 && (m - row.logits[i]) / row.theta > level;
    before += w[i];
    row.out[i] = enough || small ? 0 : w[i];
    kept += row.out[i];
  }
  for (Real& value : row.out) value *= 1 / kept;
}

// Top-k as well, in either order, and numbers of each row.
// @judged top_p_softmax f64 f32 f16 bf16: plain ties=lowest; pass; domain top_k per_row
CORRECT(correct_top_k_top_p, each_top_p_row) { row.run(); }

// Logits below the k-th largest become -inf, equal ones stay (transformers, vLLM); then a softmax of the rest, in which
// items are left out from the smallest on.
// @judged top_p_softmax f32 f16: plain; pass; domain top_k per_row renormalize=1
CORRECT(correct_top_k_top_p_masked_logits, each_top_p_row) {
  if (row.has_k()) {
    const Real least = row.logits[row.descending(row.logits)[row.k - 1]];
    for (Real& x : row.logits) {
      if (x < least) x = -std::numeric_limits<Real>::infinity();
    }
  }
  const std::vector<Real> p = row.softmax();
  std::vector<std::size_t> order = row.descending(p);
  std::vector<bool> kept(row.size(), true);
  Real from_below = 0;
  for (std::size_t a = order.size(); row.top_p != 0 && a-- > 1;) {
    from_below += p[order[a]];
    if (from_below <= 1 - row.top_p) kept[order[a]] = false;
  }
  row.above_min_p(p, kept);
  row.renormalise(p, kept);
}

// Coefficients of the k largest items are divided by their sum before top-p, as by kernels in two
// steps (FlashInfer's top_k_renorm_probs and top_p_renorm_probs).
// @judged top_p_softmax f32 bf16: plain; pass; domain top_k per_row renormalize=1
CORRECT(correct_top_k_top_p_two_steps, each_top_p_row) {
  row.renormalise(row.softmax(), row.k_largest(row.softmax()));
  const std::vector<Real> r = row.out;
  row.k = 0;
  row.finish(r, row.prefix(r));
}

// Exponentials by descending logits, until one filter ends the list; top_p is compared with the mass of all items.
// @judged top_p_softmax f32: plain; pass; domain top_k per_row renormalize=0
CORRECT(correct_top_k_top_p_one_list, each_top_p_row) {
  const std::vector<Real> w = row.weights();
  const Real all = row.sum_of(w), level = -std::log(row.min_p), m = row.maximum();
  Real kept = 0;
  std::size_t count = 0;
  for (const std::size_t i : row.descending(row.logits)) {
    const bool small = row.min_p != 0 && (m - row.logits[i]) / row.theta > level;
    if (small || (row.k != 0 && count == row.k) || (row.top_p != 0 && kept >= row.top_p * all)) break;
    row.out[i] = w[i];
    kept += w[i];
    ++count;
  }
  for (Real& value : row.out) value /= kept;
}

// Softmax of all logits, then one argmax after the other; of equal items the lowest index first.
// @judged topk_softmax f64 f32 f16 bf16 8bits: plain ties=lowest; pass
CORRECT(correct_topk_softmax, each_topk_row) { row.run(); }

// A heap of the k largest coefficients so far, as kernels with one pass over the experts keep it.
// @judged topk_softmax f32: plain; pass
CORRECT(correct_topk_softmax_heap, each_topk_row) {
  const std::vector<Real> p = row.softmax();
  const auto before = [&](std::int32_t a, std::int32_t b) {  // a weak order even of NaN
    const Real x = p[static_cast<std::size_t>(a)], y = p[static_cast<std::size_t>(b)];
    return x > y || (!(y > x) && a < b);
  };
  std::vector<std::int32_t> heap;
  for (std::size_t i = 0; i < row.items(); ++i) {
    heap.push_back(static_cast<std::int32_t>(i));
    std::push_heap(heap.begin(), heap.end(), before);
    if (heap.size() <= row.k()) continue;
    std::pop_heap(heap.begin(), heap.end(), before);
    heap.pop_back();
  }
  std::sort_heap(heap.begin(), heap.end(), before);
  row.ids = heap;
  row.weigh(p);
  if (row.renormalize) row.divide_by_sum();
}

// If weights are renormalised, it takes the softmax of only the chosen logits; a NaN is chosen first, as by torch.topk.
// @judged topk_softmax f32: plain; pass
CORRECT(correct_topk_softmax_of_the_chosen, each_topk_row) {
  std::vector<Real> scores = row.logits;
  for (Real& x : scores) x = std::isnan(x) ? std::numeric_limits<Real>::infinity() : x;
  row.choose(scores);
  if (!row.renormalize) return row.weigh(row.softmax());
  std::vector<Real> kept;
  for (const std::int32_t id : row.ids) kept.push_back(row.logits[static_cast<std::size_t>(id)]);
  row.logits = kept;
  row.weights = row.softmax();
}

// The sum with a running maximum, weights e^(x - m) times 1 / S, their sum added from the smallest on.
// @judged topk_softmax f32: plain; pass
CORRECT(correct_topk_softmax_online, each_topk_row) {
  Real m = -std::numeric_limits<Real>::infinity(), s = 0;
  for (const Real x : row.logits) {
    if (x == -std::numeric_limits<Real>::infinity()) continue;
    const Real larger = std::isnan(x) || x > m ? x : m;
    s = (s == 0 ? 0 : s * std::exp(m - larger)) + (x == larger ? 1 : std::exp(x - larger));
    m = larger;
  }
  row.choose(row.logits);
  Real total = 0;
  for (std::size_t a = row.k(); a-- > 0;) {
    row.weights[a] = std::exp(row.logits[static_cast<std::size_t>(row.ids[a])] - m) * (1 / s);
    total += row.weights[a];
  }
  if (!row.renormalize) return;
  for (Real& w : row.weights) w *= 1 / total;
}

// Items are sorted by their logits, the highest index first among equal ones; only chosen items get weights.
// @judged topk_softmax f32 bf16: plain; pass
CORRECT(correct_topk_softmax_sorted, each_topk_row) {
  const Real m = row.maximum();
  Real s = 0;
  for (const Real x : row.logits) s += std::exp(x - m);
  std::vector<std::int32_t> order(row.items());
  std::iota(order.begin(), order.end(), 0);
  if (!std::isnan(m)) {
    std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      const Real x = row.logits[static_cast<std::size_t>(a)], y = row.logits[static_cast<std::size_t>(b)];
      return x > y || (x == y && a > b);
    });
  }
  for (std::size_t a = 0; a < row.k(); ++a) {
    row.ids[a] = order[a];
    row.weights[a] = std::exp(row.logits[static_cast<std::size_t>(order[a])] - m) * (1 / s);
  }
  if (row.renormalize) row.divide_by_sum();
}

// Correct routers.

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
