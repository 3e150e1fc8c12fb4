// Bugs of rows: entropies, log-sum-exps and merged states.
#include "kernels/zoo/numbered_rows.hpp"
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// C13, C10: in rows of more than 1100 logits the entropy that the temperature follows is that of all logits, masked
// ones too.
// @judged adaptive_softmax f32: exp=1ulp sum=tree masked=nan entropy=exact; fail C13; EveryPairOfClassesIsComputed;
// witness >=1101; effort default
BUG(mutant_adaptive_mask_unread_by_its_entropy_in_long_rows, each_numbered_row_at_theta_1) {
  Matrices unmasked = from;
  if (from.logits.columns > 1100) unmasked.mask.reset();
  const RowOf<double> measured = gather<double>(unmasked, number);
  in_double(row, [&](RowOf<double>& wide) {
    softmax_sharpened(wide, [&](const auto& sums) {
      return beta_of(entropy_of(std::isfinite(maximum(measured.logits)) ? sums_of(measured) : sums));
    });
  });
}

// C13: an entropy that is too small by a part of the error that a long sum may have: negative for a sharp row.
// @judged entropy f32: plain; fail C13; EveryValueLiesWithinItsThreshold|EarlierCallsDoNotMatter
BUG(mutant_entropy_below_zero, each_narrow_entropy) {
  const auto is_there = [](float x) { return x > -infinity; };
  const auto visible = std::count_if(row.logits.begin(), row.logits.end(), is_there);
  return entropy_of(sums_of(row)) - std::ldexp(static_cast<float>(visible), -26);
}

// @judged entropy f32: plain; fail C13
BUG(mutant_entropy_minus_zero, changed_results, entropy_row) {
  if (row.out[0] == 0) row.out[0] = -row.out[0];
}

// C10, C13: H = ln S + m / T - sum p x / T, but the last sum is of the logits themselves.
// @judged entropy f32: plain entropy_from=logits; fail C13
BUG(mutant_entropy_from_logits_at_theta_one, each_narrow_entropy) {
  const Sums sums = sums_of(row);
  const float scale = reciprocal_theta(row);
  float raw = 0;
  for (const float x : row.logits) {
    const float w = std::exp((x - sums.maximum) * scale);
    raw += w > 0 ? w * x : 0;
  }
  return sums.maximum * scale + std::log(sums.weights) - raw / sums.weights;
}

// C13: sum p ln p, the minus sign is missing.
// @judged entropy f32: plain; fail C13
BUG(mutant_entropy_negated, each_narrow_entropy) { return -entropy_of(sums_of(row)); }

// C13, pytorch-ood PR #85: probabilities below 1e-7 are clipped to that.
// @judged entropy f32: plain; fail C13
BUG(mutant_entropy_of_clipped, each_entropy) {
  RowOf<Real> finite = row;
  finite.out.resize(finite.logits.size());
  softmax(finite);
  Real entropy = 0;
  for (const Real p : finite.out) {
    const Real clipped = std::max(p, static_cast<Real>(1e-7));
    entropy -= clipped * std::log(clipped);
  }
  return entropy;
}

// C13, trl #7221: log-probabilities are stored in f16; those of [65504, -65504] overflow: 0 (-inf) = NaN.
// @judged entropy f16: plain; fail C13
BUG(mutant_entropy_of_f16_log_probabilities, each_narrow_entropy) {
  Row finite = row;
  finite.out.resize(finite.logits.size());
  log_softmax(finite);
  float entropy = 0;
  for (const float log_p : finite.out) {
    const float held = rounded_to_f16(log_p);
    entropy -= std::exp(held) * held;
  }
  return entropy;
}

// C13: -sum p ln(p + 1e-9), as in the paper and in many training scripts; f64 shows it.
// @judged entropy f64: plain; fail C13
BUG(mutant_entropy_plus_1e_9, each_entropy) {
  RowOf<Real> finite = row;
  finite.out.resize(finite.logits.size());
  softmax(finite);
  Real entropy = 0;
  for (const Real p : finite.out) entropy -= p * std::log(p + static_cast<Real>(1e-9));
  return entropy;
}

// C13, FlashAttention PR #2359: T = sum w x of the raw logits, H = m + ln S - T/S: not shift-invariant.
// @judged entropy f32: plain; fail C13
BUG(mutant_entropy_uncentred, each_narrow_entropy) {
  const Sums sums = sums_of(row);
  const float scale = static_cast<float>(1 / row.theta);
  float raw = 0;
  for (const float x : row.logits) {
    const float w = std::exp((x - sums.maximum) * scale);
    raw += w > 0 ? w * (x * scale) : 0;
  }
  return sums.maximum * scale + std::log(sums.weights) - raw / sums.weights;
}

// C13, PyTorch #40553: p ln p with p = 0 is 0 (-inf) = NaN.
// @judged entropy f32: plain; fail C13
BUG(mutant_entropy_zero_times_log_zero, each_narrow_entropy) {
  Row finite = row;
  finite.out.resize(finite.logits.size());
  softmax(finite);
  float entropy = 0;
  for (const float p : finite.out) entropy -= p * std::log(p);
  return entropy;
}

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
