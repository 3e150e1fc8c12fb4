// Bugs of rows: precision of intermediate results.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "kernels/zoo/eight_bit_rows.hpp"
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// C11: the probabilities of long rows come out too large by as much as their sum may err. No sum of nonnegative terms
// is less than one of them: the largest probability must not exceed 1 by that.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan; fail C11; EveryValueLiesWithinItsThreshold;
// kernel.softmax.element
SOFTCHECK_MUTANT mutant_coefficient_above_one(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    softmax(row);
    const auto visible = std::count_if(row.logits.begin(), row.logits.end(), [](float x) { return x > -infinity; });
    const float factor = 1 + std::ldexp(static_cast<float>(visible), -26);
    for (float& p : row.out) p *= factor;
  });
}

// C11, the class of PyTorch #158310: T = sum w D is kept in f16.
// @judged entropy f16: exp=1ulp sum=sequential masked=nan; fail C11; EveryValueLiesWithinItsThreshold;
// kernel.entropy.value
SOFTCHECK_MUTANT mutant_deviations_in_f16(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = entropy_or(row, [](const Row& finite) {
      Sums<float> sums = sums_of(finite);
      sums.deviations = 0;
      for (const float x : finite.logits) {
        const float deviation = (sums.maximum - x) * reciprocal_theta(finite);
        const float w = std::exp(-deviation);
        sums.deviations = rounded_to_f16(sums.deviations + (w > 0 ? w * deviation : 0));
      }
      return entropy_of(sums);
    });
  });
}

// C11: logits are read with the exponent bias of e4m3fnuz or e5m2fnuz, 8 or 16: as half of what they are.
namespace {

struct BiasOfFnuz : EightBits {
  float widened(std::uint8_t bits) const { return EightBits::widened(bits) / 2; }
};

}  // namespace

// @judged softmax e4m3 e5m2: exp=1ulp sum=sequential masked=nan; fail C11; EveryValueLiesWithinItsThreshold;
// kernel.softmax.element
SOFTCHECK_MUTANT mutant_eight_bits_bias_of_fnuz(const softcheck_call* call) {
  return each_row_of_eight_bits<BiasOfFnuz>(call, [](Row& row) { softmax(row); });
}

// C11: subnormal results are flushed to zero, in e4m3 all coefficients below 1/64.
namespace {

struct Flushed : EightBits {
  std::uint8_t narrowed(float value) const {
    const float smallest_normal = is_e4m3 ? 0x1p-6F : 0x1p-14F;
    return std::fabs(value) < smallest_normal ? sign_bit(value) : EightBits::narrowed(value);
  }
};

}  // namespace

// @judged softmax e4m3 e5m2: exp=1ulp sum=sequential masked=nan subnormal=kept; fail C11;
// EveryValueLiesWithinItsThreshold; kernel.softmax.element
// @judged softmax e4m3 e5m2: exp=1ulp sum=sequential masked=nan subnormal=flushed; pass C11; -; -
SOFTCHECK_MUTANT mutant_eight_bits_subnormals_flushed(const softcheck_call* call) {
  return each_row_of_eight_bits<Flushed>(call, [](Row& row) { softmax(row); });
}

// C11: subnormal logits are read as zero.
namespace {

struct ReadAsZero : EightBits {
  float widened(std::uint8_t bits) const {
    const unsigned first_normal = is_e4m3 ? 0x08 : 0x04;
    return (bits & 0x7fU) < first_normal ? 0 : EightBits::widened(bits);
  }
};

}  // namespace

// @judged softmax e4m3 e5m2: exp=1ulp sum=sequential masked=nan subnormal=kept; fail C11;
// EveryValueLiesWithinItsThreshold; kernel.softmax.element
SOFTCHECK_MUTANT mutant_eight_bits_subnormals_read_as_zero(const softcheck_call* call) {
  return each_row_of_eight_bits<ReadAsZero>(call, [](Row& row) { softmax(row); });
}

// C11: the bits behind the last one are cut off, as they are where e5m2 is taken for the upper half of an f16.
namespace {

struct Truncated : EightBits {
  std::uint8_t narrowed(float value) const {
    const std::uint8_t nearest = EightBits::narrowed(value);
    return std::fabs(EightBits::widened(nearest)) > std::fabs(value) ? static_cast<std::uint8_t>(nearest - 1) : nearest;
  }
};

}  // namespace

// @judged softmax e4m3 e5m2: exp=1ulp sum=sequential masked=nan; fail C11; EveryValueLiesWithinItsThreshold;
// kernel.softmax.element
SOFTCHECK_MUTANT mutant_eight_bits_truncated(const softcheck_call* call) {
  return each_row_of_eight_bits<Truncated>(call, [](Row& row) { softmax(row); });
}

// C11, torch's f16 log-sum-exp and log-softmax along the last axis, SciPy's and JAX's softmax: the exponentials are
// added in f16. From 65,520 equal logits on their sum is infinite: the log-sum-exp is +inf, every log-probability
// -inf, every probability 0.
namespace {

float f16_pairwise_sum(std::vector<float> parts) {
  while (parts.size() > 1) {
    std::vector<float> halved;
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) halved.push_back(rounded_to_f16(parts[i] + parts[i + 1]));
    if (parts.size() % 2 != 0) halved.push_back(parts.back());
    parts = halved;
  }
  return parts.empty() ? 0 : parts[0];
}

// The exponentials as f16 has them into out, their sum returned.
float f16_weights(Row& row, float m) {
  weights(row, m, row.out);
  for (float& w : row.out) w = rounded_to_f16(w);
  return f16_pairwise_sum(row.out);
}

}  // namespace

// @judged logsumexp f16: acc=f16 exp=1ulp sum=tree masked=nan; fail C11; EveryValueLiesWithinItsThreshold;
// kernel.logsumexp.value
SOFTCHECK_MUTANT mutant_logsumexp_f16_sum_overflows(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    row.out[0] = logsumexp_or(row, [](const Row& finite) {
      Row wide = finite;
      wide.out.resize(finite.logits.size());
      const float m = maximum(finite.logits);
      return static_cast<float>(m / finite.theta + std::log(f16_weights(wide, m)));
    });
  });
}

// @judged log_softmax f16: acc=f16 exp=1ulp sum=tree masked=nan; fail C11; EveryValueLiesWithinItsThreshold;
// kernel.log_softmax.element
SOFTCHECK_MUTANT mutant_log_softmax_f16_sum_overflows(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    const float m = maximum(row.logits), log_sum = std::log(f16_weights(row, m));
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = static_cast<float>((row.logits[i] - m) / row.theta - log_sum);
    }
  });
}

// @judged softmax f16: acc=f16 exp=1ulp sum=tree masked=nan; fail C11; EveryValueLiesWithinItsThreshold;
// kernel.softmax.element|kernel.softmax.row_sum
SOFTCHECK_MUTANT mutant_softmax_f16_sum_overflows(const softcheck_call* call) {
  return each_row(call, [](Row& row) { divide(row.out, f16_weights(row, maximum(row.logits))); });
}

// C11, dos-kernel #107 (KernelBench): f64 logits are narrowed, and the row is computed in f32.
// @judged softmax f64: exp=1ulp sum=sequential masked=nan; fail C11; EveryValueLiesWithinItsThreshold;
// kernel.softmax.element
SOFTCHECK_MUTANT mutant_f64_computed_in_f32(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    float sum = 0;
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      const float w = std::exp(static_cast<float>((row.logits[i] - m) / row.theta));
      row.out[i] = w;
      sum += w;
    }
    divide<Real>(row.out, sum);
  });
}

// C11, PyTorch #38839: log(softmax(x)): -inf where the coefficient underflows, no digits near 1.
// @judged log_softmax f32: exp=1ulp sum=sequential masked=nan; fail C11; EveryValueLiesWithinItsThreshold;
// kernel.log_softmax.element
SOFTCHECK_MUTANT mutant_log_of_softmax(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    softmax(row);
    for (float& p : row.out) {
      p = std::log(p);
    }
  });
}

// C11, PyTorch #38839, #11752, MLX PR #4169: x - (max + ln S): at an offset of -1e7 all digits of ln S are gone.
// @judged log_softmax f32 f16: exp=1ulp sum=sequential masked=nan; fail C11; EveryValueLiesWithinItsThreshold;
// kernel.log_softmax.element
SOFTCHECK_MUTANT mutant_log_softmax_minus_lse(const softcheck_call* call) {
  return each_row(call, []<class Real>(RowOf<Real>& row) {
    const Real m = maximum(row.logits);
    const Real lse = m * reciprocal_theta(row) + std::log(weights(row, m, row.out));
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      row.out[i] = row.logits[i] * reciprocal_theta(row) - lse;
    }
  });
}

// C11: x / T is stored in bf16: no contract word but acc=bf16 grants that.
// @judged softmax f32: exp=1ulp sum=sequential masked=nan theta=before; fail C11; EveryValueLiesWithinItsThreshold;
// kernel.softmax.element
SOFTCHECK_MUTANT mutant_scaled_logits_in_bf16(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    for (float& x : row.logits) x = rounded_to_bf16(x / static_cast<float>(row.theta));
    row.theta = 1;
    softmax(row);
  });
}

// C11, ExecuTorch PR #20090, ik_llama #1196: the sum is kept in bf16, where 256 + 1 = 256.
// @judged softmax f32 bf16: exp=1ulp sum=sequential masked=nan; fail C11; EveryValueLiesWithinItsThreshold;
// kernel.softmax.element
SOFTCHECK_MUTANT mutant_sum_in_bf16(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    weights(row, maximum(row.logits), row.out);
    float sum = 0;
    for (const float w : row.out) {
      sum = rounded_to_bf16(sum + w);
    }
    divide(row.out, sum);
  });
}

// C11, tract PR #2586, PyTorch #158310: the sum is kept in f16, where 2048 + 1 = 2048.
// @judged softmax f32 f16: exp=1ulp sum=sequential masked=nan; fail C11; EveryValueLiesWithinItsThreshold;
// kernel.softmax.element
SOFTCHECK_MUTANT mutant_sum_in_f16(const softcheck_call* call) {
  return each_row(call, [](Row& row) {
    weights(row, maximum(row.logits), row.out);
    float sum = 0;
    for (const float w : row.out) {
      sum = rounded_to_f16(sum + w);
    }
    divide(row.out, sum);
  });
}
