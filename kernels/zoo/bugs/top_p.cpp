// Bugs of top-p, alone and with top-k.
#include "kernels/zoo/top_p_rows.hpp"

using namespace softcheck::kernels::zoo;

// The kernel searches the first item whose prefix exceeds top_p. If there is none, as with top_p = 1, it takes item 0,
// and only the largest item is kept (ChatRWKV 170).
// @judged top_p_softmax f32: plain; fail sampling
BUG(mutant_top_p_softmax_argmax_of_nothing, top_p_by_choice) {
  const std::vector<std::size_t> order = row.descending(p);
  std::size_t last = 0;
  Real up_to = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    up_to += p[order[k]];
    if (up_to > row.top_p) {
      last = k;
      break;
    }
  }
  kept.assign(row.size(), row.top_p == 0);
  for (std::size_t k = 0; k <= last; ++k) kept[order[k]] = true;
}

// The prefix is one of the smallest items.
// @judged top_p_softmax f32: plain; fail sampling
BUG(mutant_top_p_softmax_ascending_prefix, top_p_by_choice) {
  kept.assign(row.size(), row.top_p == 0);
  std::vector<std::size_t> order = row.descending(p);
  std::reverse(order.begin(), order.end());
  Real before = 0;
  for (const std::size_t i : order) {
    if (row.top_p == 0 || before >= row.top_p) break;
    kept[i] = true;
    before += p[i];
  }
}

// The temperature is applied after the filters, which use softmax(x).
// @judged top_p_softmax f32: plain; fail sampling
BUG(mutant_top_p_softmax_at_theta_1, each_top_p_row) {
  const std::vector<Real> p = row.softmax();
  const Real theta = row.theta;
  row.theta = 1;
  const std::vector<Real> plain = row.softmax();
  row.theta = theta;
  std::vector<bool> kept = row.prefix(plain);
  row.above_min_p(plain, kept);
  row.renormalise(p, kept);
}

// The item with which the prefix reaches top_p is left out, all but the first (fish-speech 1171, esm 360,
// FlashInfer 2202).
// @judged top_p_softmax f32: plain; fail sampling
BUG(mutant_top_p_softmax_boundary, top_p_by_choice) {
  kept.assign(row.size(), row.top_p == 0);
  Real up_to = 0;
  const std::vector<std::size_t> order = row.descending(p);
  for (std::size_t k = 0; row.top_p != 0 && k < order.size(); ++k) {
    up_to += p[order[k]];
    kept[order[k]] = k == 0 || !(up_to > row.top_p);
  }
}

// The prefix reaches 1 - top_p: the sort was descending, the comparison that of an ascending one.
// @judged top_p_softmax f32: plain; fail sampling
BUG(mutant_top_p_softmax_complement, top_p_by_choice) {
  if (row.top_p != 0) row.top_p = 1 - row.top_p;
  kept = row.prefix(p);
  if (row.top_p == 0 && !kept.empty()) kept.assign(kept.size(), true);
}

// Bug under ties=lowest: of equal items those of the highest indices are kept.
// @judged top_p_softmax f32: plain ties=lowest; fail sampling
BUG(mutant_top_p_softmax_highest_of_equal, top_p_by_choice) {
  std::vector<Real> reversed(p.rbegin(), p.rend());
  kept = row.prefix(reversed);
  std::reverse(kept.begin(), kept.end());
}

// The smallest kept coefficient of the first row is used for all rows.
// @judged top_p_softmax f32: plain; fail sampling;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight
SOFTCHECK_MUTANT mutant_top_p_softmax_mass_of_the_first_row(const softcheck_call* call) {
  std::optional<double> pivot;
  return each_top_p_row(call, [&](auto& row) {
    const auto p = row.softmax();
    std::vector<bool> kept = row.prefix(p);
    double smallest = 1;
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (kept[i] && static_cast<double>(p[i]) < smallest) smallest = static_cast<double>(p[i]);
    }
    if (!pivot) pivot = smallest;
    const std::size_t first = row.descending(p)[0];
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (row.top_p != 0) kept[i] = i == first || static_cast<double>(p[i]) >= *pivot;
    }
    row.above_min_p(p, kept);
    row.renormalise(p, kept);
  });
}

// Min_p is applied first, and top_p is a share of the remaining items.
// @judged top_p_softmax f32: plain; fail sampling
BUG(mutant_top_p_softmax_min_p_first, each_top_p_row) {
  const std::vector<Real> p = row.softmax();
  std::vector<bool> first(row.size(), true);
  row.above_min_p(p, first);
  row.renormalise(p, first);
  const std::vector<Real> left = row.out;
  std::vector<bool> kept = row.prefix(left);
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = kept[i] && first[i];
  row.renormalise(p, kept);
}

// Min_p is compared with the coefficients themselves, not with their share of the largest one.
// @judged top_p_softmax f32: plain; fail sampling
BUG(mutant_top_p_softmax_min_p_of_one, each_top_p_row) {
  const std::vector<Real> p = row.softmax();
  std::vector<bool> kept = row.prefix(p);
  const std::size_t first = row.descending(p)[0];
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (i != first && row.min_p != 0 && p[i] < row.min_p) kept[i] = false;
  }
  row.renormalise(p, kept);
}

// An item larger than top_p leaves nothing (tiny-llm 32).
// @judged top_p_softmax f32: plain; fail sampling; kept|element
BUG(mutant_top_p_softmax_none_of_a_large_one, top_p_by_choice) {
  kept.assign(row.size(), row.top_p == 0);
  Real up_to = 0;
  for (const std::size_t i : row.descending(p)) {
    if (row.top_p == 0) break;
    up_to += p[i];
    kept[i] = !(up_to > row.top_p);
  }
}

// Coefficients are divided by the sum of the kept ones, but no item is left out (the remedy proposed in SGLang 4876).
// @judged top_p_softmax f32: plain; fail sampling; element|kept
BUG(mutant_top_p_softmax_not_masked, each_top_p_row) {
  const std::vector<Real> p = row.softmax();
  std::vector<bool> kept = row.prefix(p);
  row.above_min_p(p, kept);
  Real sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += kept[i] ? p[i] : 0;
  for (std::size_t i = 0; i < p.size(); ++i) row.out[i] = p[i] / sum;
}

// The item after the one with which the prefix reaches top_p is kept, too (transformers 18976, off by one).
// @judged top_p_softmax f32: plain; fail sampling
BUG(mutant_top_p_softmax_one_more, top_p_by_choice) {
  for (const std::size_t i : row.descending(p)) {
    if (kept[i]) continue;
    kept[i] = true;
    break;
  }
}

// The coefficients of the prefix are added in f16.
// @judged top_p_softmax f32: plain; fail sampling
BUG(mutant_top_p_softmax_prefix_in_f16, top_p_by_choice) {
  kept.assign(row.size(), row.top_p == 0);
  float before = 0;
  for (const std::size_t i : row.descending(p)) {
    if (row.top_p == 0 || before >= static_cast<float>(row.top_p)) break;
    kept[i] = true;
    before = rounded_to_f16(before + static_cast<float>(p[i]));
  }
}

// Coefficients below 10^-8 are left out for every top_p (FlashInfer 708).
// @judged top_p_softmax f32: plain; fail sampling
BUG(mutant_top_p_softmax_small_ones_vanish, top_p_by_choice) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] < static_cast<Real>(1e-8)) kept[i] = false;
  }
}

// An item has to exceed min_p of the largest one: with min_p = 1 none does.
// @judged top_p_softmax f32: plain; fail sampling; kept|element
BUG(mutant_top_p_softmax_strict_min_p, each_top_p_row) {
  const std::vector<Real> p = row.softmax();
  std::vector<bool> kept = row.prefix(p);
  const Real largest = *std::max_element(p.begin(), p.end());
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (row.min_p != 0 && p[i] <= row.min_p * largest) kept[i] = false;
  }
  row.renormalise(p, kept);
}

// All items as small as the last one of the prefix are left out, but the largest.
// @judged top_p_softmax f32: plain; fail sampling
BUG(mutant_top_p_softmax_ties_dropped, top_p_by_choice) {
  Real pivot = std::numeric_limits<Real>::infinity();
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (kept[i] && p[i] < pivot) pivot = p[i];
  }
  std::size_t equal = 0;
  for (std::size_t i = 0; i < p.size(); ++i) equal += p[i] == pivot ? 1 : 0;
  const Real largest = *std::max_element(p.begin(), p.end());
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (row.top_p != 0 && equal > 1 && p[i] == pivot && pivot < largest) kept[i] = false;
  }
}

// The kept coefficients are not divided by their sum (fairseq 882).
// @judged top_p_softmax f32: plain; fail sampling; element
BUG(mutant_top_p_softmax_unnormalised, each_top_p_row) {
  const std::vector<Real> p = row.softmax();
  std::vector<bool> kept = row.prefix(p);
  row.above_min_p(p, kept);
  for (std::size_t i = 0; i < p.size(); ++i) row.out[i] = kept[i] || std::isnan(p[i]) ? p[i] : 0;
}

// The order of the filters is fixed: top_p is always a share of all items (onnxruntime-genai 1371).
// @judged top_p_softmax f32: plain; fail sampling; domain top_k per_row renormalize=1
BUG(mutant_top_k_top_p_always_joint, each_top_p_row) {
  row.top_k_first = false;
  row.run();
}

// The other fixed order: top_p is a share of what top-k left (SGLang 36173, sglang-jax 1563).
// @judged top_p_softmax f32: plain; fail sampling; domain top_k per_row
BUG(mutant_top_k_top_p_always_first, each_top_p_row) {
  row.top_k_first = true;
  row.run();
}

// Returns after top-k: a call with both has no top_p (Kronos 262).
// @judged top_p_softmax f32: plain; fail sampling; domain top_k per_row
BUG(mutant_top_k_top_p_returns_early, each_top_p_row) {
  if (row.has_k()) row.top_p = 0;
  row.run();
}

// The comparison of ranks keeps k + 1 items (mesh-transformer-jax 164).
// @judged top_p_softmax f32: plain; fail sampling; domain top_k per_row
BUG(mutant_top_k_top_p_one_more, each_top_p_row) {
  const std::vector<Real> p = row.softmax();
  const std::vector<bool> kept = row.prefix(p);
  if (row.k != 0) ++row.k;
  row.finish(p, kept);
}

// All rows have the k of the first one (FlashInfer 5339).
// @judged top_p_softmax f32: plain; fail sampling;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed|ManyRowsAreEachAsRight; domain top_k per_row
SOFTCHECK_MUTANT mutant_top_k_top_p_of_the_first_row(const softcheck_call* call) {
  std::size_t first = 0;
  return each_top_p_row(call, [&](auto& row) {
    if (row.number == 0) first = row.k;
    row.k = first;
    row.run();
  });
}

// Top-p follows top-k, but takes the coefficients' sum for 1: items are left out from the smallest on while they add up
// to 1 - top_p, which may be all of them (mlx-lm 388).
// @judged top_p_softmax f32: plain; fail sampling; kept|element; domain top_k per_row renormalize=1
BUG(mutant_top_k_top_p_sum_is_not_1, each_top_p_row) {
  const std::vector<Real> p = row.softmax();
  std::vector<bool> kept = row.k_largest(p);
  std::vector<std::size_t> order = row.descending(p);
  Real from_below = 0;
  for (std::size_t a = order.size(); row.top_p != 0 && a-- > 0;) {
    if (!kept[order[a]]) continue;
    from_below += p[order[a]];
    if (from_below <= 1 - row.top_p) kept[order[a]] = false;
  }
  row.finish(p, kept);
}

// The temperature of a row is applied behind the filters (sglang-jax 1563).
// @judged top_p_softmax f32: plain; fail sampling; domain top_k per_row
BUG(mutant_top_k_top_p_temperature_last, each_top_p_row) {
  const std::vector<Real> p = row.softmax();
  row.theta = 1;
  const std::vector<Real> plain = row.softmax();
  std::vector<bool> kept = row.prefix(plain);
  row.above_min_p(plain, kept);
  row.min_p = 0;
  row.finish(p, kept);
}

// min_p is compared with logits over the largest logit (sglang-jax 1563).
// @judged top_p_softmax f32: plain; fail sampling; kept|element; domain top_k per_row
BUG(mutant_top_k_top_p_min_p_of_logits, each_top_p_row) {
  const std::vector<Real> p = row.softmax();
  std::vector<bool> kept = row.prefix(p);
  row.above_min_p(row.logits, kept);
  row.min_p = 0;
  row.finish(p, kept);
}
