// Bugs of rows: entropies.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/zoo/numbered_rows.hpp"
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// C13, C10: in rows of more than 1100 logits the entropy that the temperature follows is that of all logits, masked
// ones too.
// @judged adaptive_softmax f32: exp=1ulp sum=tree masked=nan entropy=exact; fail C13; EveryPairOfClassesIsComputed;
// kernel.adaptive_softmax.element; witness >=1101; effort default
SOFTCHECK_MUTANT mutant_adaptive_mask_unread_by_its_entropy_in_long_rows(const softcheck_call* call) {
  return call->theta != 1
             ? 1
             : each_numbered_row(call, []<class Real>(const Matrices& from, std::int64_t number, RowOf<Real>& row) {
                 Matrices unmasked = from;
                 if (from.logits.columns > 1100) {
                   unmasked.mask.reset();
                 }
                 const RowOf<double> measured = gather<double>(unmasked, number);
                 RowOf<double> wide{{row.logits.begin(), row.logits.end()}, 1, std::vector<double>(row.out.size())};
                 softmax_sharpened(wide, [&](const auto& sums) {
                   return beta_of(entropy_of(std::isfinite(maximum(measured.logits)) ? sums_of(measured) : sums));
                 });
                 std::copy(wide.out.begin(), wide.out.end(), row.out.begin());
               });
}

// C13: an entropy that is too small by a part of what the sum of a long row may err, and so negative for a sharp row.
// @judged entropy f32: exp=1ulp sum=sequential masked=nan; fail C13;
// EveryValueLiesWithinItsThreshold|EarlierCallsDoNotMatter; kernel.entropy.value
SOFTCHECK_MUTANT mutant_entropy_below_zero(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = entropy_or(row, [](const Row& finite) {
      const auto is_there = [](float x) { return x > -infinity; };
      const auto visible = std::count_if(finite.logits.begin(), finite.logits.end(), is_there);
      return entropy_of(sums_of(finite)) - std::ldexp(static_cast<float>(visible), -26);
    });
  });
}

// @judged entropy f32: exp=1ulp sum=sequential masked=nan; fail C13; EveryValueLiesWithinItsThreshold;
// kernel.entropy.value
SOFTCHECK_MUTANT mutant_entropy_minus_zero(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = entropy_or(row, [](const RowOf<Real>& finite) { return entropy_of(sums_of(finite)); });
    if (row.out[0] == 0) row.out[0] = -row.out[0];
  });
}

// C10, C13: H = ln S + m / T - sum p x / T, but the last sum is of the logits themselves.
// @judged entropy f32: exp=1ulp sum=sequential masked=nan entropy_from=logits; fail C13;
// EveryValueLiesWithinItsThreshold; kernel.entropy.value
SOFTCHECK_MUTANT mutant_entropy_from_logits_at_theta_one(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = entropy_or(row, [](const Row& finite) {
      const Sums sums = sums_of(finite);
      const float scale = reciprocal_theta(finite);
      float raw = 0;
      for (const float x : finite.logits) {
        const float w = std::exp((x - sums.maximum) * scale);
        raw += w > 0 ? w * x : 0;
      }
      return sums.maximum * scale + std::log(sums.weights) - raw / sums.weights;
    });
  });
}

// C13: sum p ln p, the minus sign is missing.
// @judged entropy f32: exp=1ulp sum=sequential masked=nan; fail C13; EveryValueLiesWithinItsThreshold;
// kernel.entropy.value
SOFTCHECK_MUTANT mutant_entropy_negated(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = entropy_or(row, [](const Row& finite) { return -entropy_of(sums_of(finite)); });
  });
}

// C13, pytorch-ood PR #85: probabilities below 1e-7 are clipped to that.
// @judged entropy f32: exp=1ulp sum=sequential masked=nan; fail C13; EveryValueLiesWithinItsThreshold;
// kernel.entropy.value
SOFTCHECK_MUTANT mutant_entropy_of_clipped(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = entropy_or(row, [](RowOf<Real> finite) {
      finite.out.resize(finite.logits.size());
      softmax(finite);
      Real entropy = 0;
      for (const Real p : finite.out) {
        const Real clipped = std::max(p, static_cast<Real>(1e-7));
        entropy -= clipped * std::log(clipped);
      }
      return entropy;
    });
  });
}

// C13, trl #7221: log-probabilities are held in f16, where those of [65504, -65504] overflow: 0 (-inf) = NaN.
// @judged entropy f16: exp=1ulp sum=sequential masked=nan; fail C13; EveryValueLiesWithinItsThreshold;
// kernel.entropy.value
SOFTCHECK_MUTANT mutant_entropy_of_f16_log_probabilities(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = entropy_or(row, [](Row finite) {
      finite.out.resize(finite.logits.size());
      log_softmax(finite);
      float entropy = 0;
      for (const float log_p : finite.out) {
        const float held = rounded_to_f16(log_p);
        entropy -= std::exp(held) * held;
      }
      return entropy;
    });
  });
}

// C13: -sum p ln(p + 1e-9), as in the paper and in many training scripts; f64 shows it.
// @judged entropy f64: exp=1ulp sum=sequential masked=nan; fail C13; EveryValueLiesWithinItsThreshold;
// kernel.entropy.value
SOFTCHECK_MUTANT mutant_entropy_plus_1e_9(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    row.out[0] = entropy_or(row, [](RowOf<Real> finite) {
      finite.out.resize(finite.logits.size());
      softmax(finite);
      Real entropy = 0;
      for (const Real p : finite.out) {
        entropy -= p * std::log(p + static_cast<Real>(1e-9));
      }
      return entropy;
    });
  });
}

// C13, FlashAttention PR #2359: T = sum w x of the raw logits, H = m + ln S - T/S: not shift-invariant.
// @judged entropy f32: exp=1ulp sum=sequential masked=nan; fail C13; EveryValueLiesWithinItsThreshold;
// kernel.entropy.value
SOFTCHECK_MUTANT mutant_entropy_uncentred(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = entropy_or(row, [](const Row& finite) {
      const Sums sums = sums_of(finite);
      const float scale = static_cast<float>(1 / finite.theta);
      float raw = 0;
      for (const float x : finite.logits) {
        const float w = std::exp((x - sums.maximum) * scale);
        raw += w > 0 ? w * (x * scale) : 0;
      }
      return sums.maximum * scale + std::log(sums.weights) - raw / sums.weights;
    });
  });
}

// C13, PyTorch #40553: p ln p with p = 0 is 0 (-inf) = NaN.
// @judged entropy f32: exp=1ulp sum=sequential masked=nan; fail C13; EveryValueLiesWithinItsThreshold;
// kernel.entropy.value
SOFTCHECK_MUTANT mutant_entropy_zero_times_log_zero(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = entropy_or(row, [](Row finite) {
      finite.out.resize(finite.logits.size());
      softmax(finite);
      float entropy = 0;
      for (const float p : finite.out) {
        entropy -= p * std::log(p);
      }
      return entropy;
    });
  });
}
