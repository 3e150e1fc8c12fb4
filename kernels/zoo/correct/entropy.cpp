// Correct kernels of entropy and of adaptive softmax.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

// Adaptive temperature by the exact entropy, entropy=exact; computed in double, which is better than sum=tree.
// @judged adaptive_softmax f32 8bits: exp=1ulp sum=tree masked=nan entropy=exact; pass
// @judged adaptive_softmax f64: plain entropy=exact; pass
CORRECT(correct_adaptive, each_row_at_theta_1) {
  in_double(row, [](RowOf<double>& wide) { adaptive_softmax(wide); });
}

// Adaptive temperature as published, entropy=paper: H = -sum p ln(p + 1e-9); computed in double, which is
// better than sum=tree.
// @judged adaptive_softmax f32 bf16: exp=1ulp sum=tree masked=nan entropy=paper; pass
CORRECT(correct_adaptive_paper, each_row_at_theta_1) {
  in_double(row, [](RowOf<double>& wide) {
    softmax(wide);
    double entropy = 0;
    for (const double p : wide.out) entropy -= p * std::log(p + 1e-9);
    softmax_sharpened(wide, [entropy](const Sums<double>&) { return beta_of(entropy); });
  });
}

// Ln S + T / S, centred.
// @judged entropy f32 f64 8bits: plain; pass
CORRECT(correct_entropy, each_row) { entropy(row); }

// Correct under contract entropy_from=logits: H = ln S + m - sum p x. The weights are divided first: a sum of
// w x may overflow where the entropy does not.
// @judged entropy f32 f64: exp=1ulp sum=sequential entropy_from=logits; pass
// @judged entropy bf16: plain; fail C13
CORRECT(correct_entropy_from_logits, each_entropy) {
  const Sums<Real> sums = sums_of(row);
  const Real scale = reciprocal_theta(row);
  Real raw = 0;
  for (const Real x : row.logits) {
    const Real w = std::exp((x - sums.maximum) * scale);
    raw += w > 0 ? w / sums.weights * (x * scale) : 0;
  }
  return sums.maximum * scale + std::log(sums.weights) - raw;
}

// Correct under contract entropy_from=coefficients lse=uncentred, as the entropy of a categorical distribution is
// written: x - lse, their softmax, and -sum p ln p. A row of one peak gives -0.
// ln p = x / T - lse, of a row with a finite maximum.
template <class Real>
static RowOf<Real> log_probabilities(const RowOf<Real>& row) {
  const Real lse = logsumexp_of(row, sums_of(row));
  RowOf<Real> logs{row.logits, 1, row.logits};
  for (Real& x : logs.logits) x = static_cast<Real>(x * reciprocal_theta(row)) - lse;
  softmax(logs);
  return logs;
}

// @judged entropy f32 f16: exp=1ulp sum=sequential entropy_from=coefficients lse=uncentred; pass
// @judged entropy bf16: plain; fail C13
CORRECT(correct_entropy_of_log_probabilities, each_entropy) {
  const RowOf<Real> logs = log_probabilities(row);
  Real sum = 0;
  for (std::size_t i = 0; i < logs.out.size(); ++i) sum += logs.out[i] > 0 ? logs.out[i] * logs.logits[i] : 0;
  return -sum;
}

// C13: improbable items are left out of the sum.
// @judged entropy f32: plain entropy_from=coefficients lse=uncentred; fail C13
BUG(mutant_entropy_of_probable_items, each_entropy) {
  const RowOf<Real> logs = log_probabilities(row);
  Real sum = 0;
  for (std::size_t i = 0; i < logs.out.size(); ++i) {
    sum += logs.out[i] > Real(1e-3) ? logs.out[i] * logs.logits[i] : 0;
  }
  return -sum;
}

// S and T in one pass; where the maximum rises by d, T <- a (T + d S), a = exp(-d).
// @judged entropy f32 bf16: plain; pass
CORRECT(correct_entropy_online, each_row) {
  const Real scale = reciprocal_theta(row);
  row.out[0] = entropy_or(row, [scale](const RowOf<Real>& finite) {
    Sums<Real> sums{-infinity, 0, 0};
    for (const Real x : finite.logits) {
      if (x == -infinity) continue;
      if (x > sums.maximum) {
        const Real d = sums.weights > 0 ? (x - sums.maximum) * scale : 0;
        const Real a = std::exp(-d);
        sums.deviations = a > 0 ? a * (sums.deviations + d * sums.weights) : 0;
        sums.weights = sums.weights * a;
        sums.maximum = x;
      }
      const Real deviation = (sums.maximum - x) * scale;
      const Real w = std::exp(-deviation);
      sums.weights += w;
      sums.deviations += w > 0 ? w * deviation : 0;
    }
    return entropy_of(sums);
  });
}

// (m, S, T) of every 16 logits, each rescaled to the largest m by a (T + d S), then added pairwise, as in split-KV
// and across ranks; sum=blocks:16.
// @judged entropy f32 f64: exp=1ulp sum=blocks:16 masked=nan; pass
CORRECT(correct_split, each_entropy) {
  const Real m = maximum(row.logits);
  std::vector<Sums<Real>> parts = parts_of(row);
  for (Sums<Real>& part : parts) {
    const Real d = (m - part.maximum) * reciprocal_theta(row);
    const Real a = std::exp(-d);
    part = {m, a * part.weights, a > 0 ? a * (part.deviations + d * part.weights) : 0};
  }
  for (std::size_t step = 1; step < parts.size(); step *= 2) {
    for (std::size_t i = 0; i + step < parts.size(); i += 2 * step) {
      parts[i].weights += parts[i + step].weights;
      parts[i].deviations += parts[i + step].deviations;
    }
  }
  return entropy_of(parts.front());
}
