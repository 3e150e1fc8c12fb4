// Bugs of rows: log-sum-exps and merged states.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// C2, vLLM PR #28840: the entropy that beta is computed from is to base 2.
// @judged adaptive_softmax bf16: plain entropy=exact; fail C2
BUG(mutant_adaptive_entropy_in_bits, each_row_at_theta_1) {
  softmax_sharpened(
      row, [](const Sums<Real>& sums) { return beta_of(entropy_of(sums) * static_cast<Real>(1.442695040888963407)); });
}

// C2, vLLM PR #28840, sglang PR #35045: the logarithm is to base 2.
// @judged logsumexp f32: plain; fail C2
BUG(mutant_lse_base_2, each_narrow_row) {
  row.out[0] = logsumexp_or(
      row, [](const Row& finite) { return logsumexp_of(finite, sums_of(finite)) * 1.44269504f; });  // log2 e
}

// C2: ln S is returned, the maximum is not added back.
// @judged logsumexp f32: plain; fail C2
BUG(mutant_lse_without_max, each_narrow_logsumexp) { return std::log(sums_of(row).weights); }

// C2, FlashAttention PR #2388: the merge looks for the maximum of every part at the place of the first.
// @judged logsumexp f32: plain; fail C2; witness 17
BUG(mutant_merge_by_first_part, each_logsumexp) {
  Sums<Real> all{maximum(row.logits), 0, 0};
  const std::vector<Sums<Real>> parts = parts_of(row);
  for (const Sums<Real>& part : parts) {
    all.weights += part.weights * std::exp((parts.front().maximum - all.maximum) * reciprocal_theta(row));
  }
  return logsumexp_of(row, all);
}

// C2, the class of vLLM #49294: the first part of a split row is merged a second time.
// @judged logsumexp f16: plain; fail C2; witness 17
BUG(mutant_merge_counts_a_part_twice, each_logsumexp) {
  Sums<Real> all{maximum(row.logits), 0, 0};
  std::vector<Sums<Real>> parts = parts_of(row);
  if (parts.size() > 1) parts.push_back(parts.front());
  for (const Sums<Real>& part : parts) {
    all.weights += part.weights * std::exp((part.maximum - all.maximum) * reciprocal_theta(row));
  }
  return logsumexp_of(row, all);
}

// C2: parts (m, S, T) are merged by T <- a T where a (T + d S) is due.
// @judged entropy f32 f64: plain; fail C2; witness 17
BUG(mutant_merge_forgets_deviation, each_entropy) {
  Sums<Real> all{maximum(row.logits), 0, 0};
  for (const Sums<Real>& part : parts_of(row)) {
    const Real a = std::exp((part.maximum - all.maximum) * reciprocal_theta(row));
    all.weights += a * part.weights;
    all.deviations += a * part.deviations;
  }
  return entropy_of(all);
}

// C2, FlashInfer #4051, LeetCUDA PR #419, AIInfraGuide PR #48: two parts with only masked items are merged: (-inf) -
// (-inf) is NaN.
static constexpr std::size_t block = 16;

template <class Real>
static Sums<Real> merged(const RowOf<Real>& row) {
  Sums<Real> all{-infinity, 0, 0};
  for (std::size_t i = 0; i < row.logits.size(); i += block) {
    const std::size_t end = std::min(i + block, row.logits.size());
    const auto at = [&](std::size_t place) { return row.logits.begin() + static_cast<std::ptrdiff_t>(place); };
    const RowOf<Real> part{std::vector<Real>(at(i), at(end)), row.theta, {}};
    const Sums<Real> sums = maximum(part.logits) == -infinity ? Sums<Real>{-infinity, 0, 0} : sums_of(part);
    const Real m = std::max(all.maximum, sums.maximum);
    const Real scale = reciprocal_theta(row);
    all.weights =
        all.weights * std::exp((all.maximum - m) * scale) + sums.weights * std::exp((sums.maximum - m) * scale);
    all.maximum = m;
  }
  return all;
}

// @judged logsumexp bf16: plain; fail C2; EveryValueLiesWithinItsThreshold|EveryPairOfClassesIsComputed; witness 17
BUG(mutant_merge_without_guard, each_logsumexp) { return logsumexp_of(row, merged(row)); }
